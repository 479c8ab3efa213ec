// Chips: buttons that carry a model's marker and switch it on and off.

/**
 * Chips for models, family by family. `isOn(label)` says which are pressed, `toggle(label)` is called when one is used.
 * Pointing at a chip, or reaching it by keyboard, brings its model forward in everything that is drawn.
 */
function chips(models, isOn, toggle, view) {
  const made = new Map(models.map((model) => {
    const chip = button([swatch(model.label), el("span", null, model.label)], () => toggle(model.label),
      { class: "chip", "data-label": model.label, ...view.lighting(model.label) });
    return [model.label, chip];
  }));
  const families = Object.entries(LOOKS.families).map(([family, words]) => {
    const kin = models.filter((model) => lookOf(model.label).family === family).map((model) => made.get(model.label));
    return kin.length && el("div", { class: "family" }, el("span", { class: "words" }, words), kin);
  }).filter(Boolean);
  return {
    place: el("div", { class: "chips", role: "group" }, families),
    update(present) {
      for (const [label, chip] of made) {
        chip.setAttribute("aria-pressed", String(isOn(label)));
        chip.hidden = Boolean(present) && !present.has(label);
      }
      for (const family of families) family.hidden = !family.querySelector(".chip:not([hidden])");
    },
  };
}

/** What is shown of an experiment: a filter, a chip for each model, and shortcuts. */
function modelPanel(view) {
  const { choices } = view;
  const field = el("input", { type: "search", placeholder: "gp -paper", "aria-label": "Filter models by words",
    input: () => choices.set("filter", field.value) });
  const count = el("span", { class: "count", role: "status" });
  const hidden = () => new Set(choices.list("hide"));
  const hide = (labels) => choices.set("hide", view.models.map((m) => m.label).filter((label) => labels.has(label)));
  const toggle = (label) => {
    const now = hidden();
    if (!now.delete(label)) now.add(label);
    hide(now);
  };
  const legend = chips(view.models, (label) => !hidden().has(label), toggle, view);
  const every = () => view.models.map((model) => model.label);
  const tools = el("div", { class: "tools" },
    button("all", () => hide(new Set())),
    button("none", () => hide(new Set(every()))),
    view.models.length > 5 && button("best five", () => {
      const kept = new Set(view.ranked().slice(0, 5).map((model) => model.label));
      hide(new Set(every().filter((label) => !kept.has(label))));
    }, { title: "the first five of the table as it is sorted" }));
  const details = el("details", { class: "panel", open: view.models.length <= 24 && wide() >= 600 },
    el("summary", null, "Models"), tools, legend.place);
  legend.place.setAttribute("aria-label", "Models to show");
  return {
    place: el("div", { class: "models" }, el("label", { class: "filter" }, "Filter ", field, " ", count), details),
    update() {
      if (field.value !== choices.get("filter")) field.value = choices.get("filter");
      const shown = view.shown();
      count.textContent = `${shown.length} of ${view.models.length} models`;
      legend.update();
    },
  };
}

/** Those models that pass a filter: all its words occur, and none that begins with a minus. */
function passing(models, filter) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return models;
  const passes = (text) => words.every((word) => (
    word.startsWith("-") && word.length > 1 ? !text.includes(word.slice(1)) : text.includes(word)));
  return models.filter((model) => passes(`${model.label} ${model.model} ${model.flags.join(" ")}`.toLowerCase()));
}
