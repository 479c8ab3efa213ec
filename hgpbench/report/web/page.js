// The page: a view for each experiment, made when it comes near, and the address that remembers them.

class View {
  constructor(experiment, section) {
    this.name = experiment.name;
    this.experiment = experiment;
    this.models = experiment.models;
    this.section = section;
    this.byLabel = new Map(this.models.map((model) => [model.label, model]));
    this.byRun = new Map(this.models.map((model) => [model.label, []]));
    for (const run of experiment.runs) this.byRun.get(run.label).push(run);
    this.parts = null;
    this.choices = new Choices(experiment, (key) => this.changed(key));
  }

  runs(label) {
    return this.byRun.get(label);
  }

  /** Models that are neither hidden nor filtered out, in the order of the plan. */
  shown() {
    if (!this.kept) {
      const hidden = new Set(this.choices.list("hide"));
      this.kept = passing(this.models, this.choices.get("filter")).filter((model) => !hidden.has(model.label));
    }
    return this.kept;
  }

  /** The same, in the order of the table. */
  ranked() {
    return sorted(this.shown(), this.choices.get("sort"));
  }

  build() {
    if (this.parts) return;
    this.parts = [modelPanel(this), modelTable(this), scatter(this), curvePanel(this), drawer(this)];
    const place = this.section.querySelector(".look");
    place.append(...this.parts.map((part) => part.place).filter(Boolean));
    this.section.classList.add("alive");
    this.update(null);
  }

  changed(key) {
    this.update(key);
    remember(VIEWS);
  }

  update(key) {
    this.kept = null;
    for (const part of this.parts || []) part.update(key);
  }

  /** Bring a model forward wherever it is drawn; null lets all be equal again. */
  light(label) {
    if (this.lit === label) return;
    this.lit = label;
    this.section.classList.toggle("lighting", label !== null);
    for (const each of this.section.querySelectorAll("[data-label]")) {
      each.classList.toggle("lit", label !== null && each.getAttribute("data-label") === label);
    }
  }

  /** Listeners that bring a model forward while something of it is pointed at or has the focus. */
  lighting(label) {
    const [on, off] = [() => this.light(label), () => this.light(null)];
    return { pointerenter: on, pointerleave: off, focusin: on, focusout: off };
  }
}

const VIEWS = DATA.experiments.map((experiment) => new View(experiment, document.getElementById(experiment.name)));

/** The first at once, the others when the reader comes near. */
function start() {
  document.documentElement.classList.add("alive");
  const meant = follow(location.hash, VIEWS);
  if (VIEWS.length > 1) acrossTable(VIEWS, document.getElementById("across"));
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) VIEWS.find((view) => view.section === entry.target).build();
    }
  }, { rootMargin: "800px" });
  VIEWS.forEach((view, place) => {
    if (place === 0 || view.choices.values.size) view.build();
    else near.observe(view.section);
  });
  if (meant && meant !== VIEWS[0]) meant.section.scrollIntoView();
  window.addEventListener("hashchange", () => {
    if (follow(location.hash, VIEWS) === null) return;
    for (const view of VIEWS) {
      view.build();
      view.update(null);
    }
  });
}

start();
