// What the reader has chosen in one experiment, and the fragment of the address that says it.

const KEYS = ["sort", "filter", "columns", "hide", "x", "y", "scales", "marks", "curves", "level", "open"];
const SEPARATOR = "~"; // between an experiment and what was chosen; no name of an experiment has it
const LINK = "#?";

/** Width of the window; that of the document would have the browser lay it out first. */
const wide = () => window.innerWidth;

/** As many columns as fit, of quantities that some model has; so many fewer where their numbers are long. */
function defaultColumns(experiment, fewer) {
  const every = ["msll", "smse", "calibration", "coverage95", timeOf(experiment), "crps", "interval95", "peak_memory_bytes"];
  const most = wide() < 500 ? 3 : wide() < 900 ? 5 : every.length;
  const kept = every.slice(0, most - fewer).filter((name) => experiment.models.some((model) => model.stats[name].n > 0));
  return LOOKS.quantities.map((each) => each.name).filter((name) => kept.includes(name));
}

/** Processor time, which other work on the machine does not lengthen, where it was recorded. */
function timeOf(experiment) {
  return experiment.models.some((model) => model.stats.processor_seconds.n > 0) ? "processor_seconds" : "total_seconds";
}

/** The choices of one experiment: every one a string, an empty one its default. */
class Choices {
  constructor(experiment, changed) {
    this.experiment = experiment;
    this.changed = changed;
    this.values = new Map();
    this.defaults = {
      sort: "msll", filter: "", columns: null, hide: "", x: timeOf(experiment), y: "msll",
      scales: "x", marks: "seeds,names,spread", curves: null, level: "difference", open: "",
    };
  }

  get(key) {
    return this.values.has(key) ? this.values.get(key) : this.defaults[key];
  }

  /** A choice that is a set of words; words of others may hold commas, so these are escaped. */
  list(key) {
    const text = this.get(key);
    if (text === null) return null;
    return text === "" ? [] : text.split(",").map(unescaped);
  }

  set(key, value) {
    const text = Array.isArray(value) ? value.map((each) => each.replace(/[%,]/g, encodeURIComponent)).join(",") : value;
    if (text === this.defaults[key]) this.values.delete(key);
    else this.values.set(key, text);
    this.changed(key);
  }

  reset() {
    this.values.clear();
    this.changed(null);
  }
}

function unescaped(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

/** The whole page's choices as a fragment; nothing where all are the defaults. */
function fragment(views) {
  const said = new URLSearchParams();
  for (const view of views) {
    for (const key of KEYS) {
      if (view.choices.values.has(key)) said.set(view.name + SEPARATOR + key, view.choices.values.get(key));
    }
  }
  const text = said.toString();
  return text ? LINK + text : "";
}

/** Put what a fragment says into the choices; what is unknown is passed over. Gives the first one meant. */
function follow(text, views) {
  if (!text.startsWith(LINK)) return null;
  let first = null;
  for (const view of views) view.choices.values.clear();
  for (const [key, value] of new URLSearchParams(text.slice(LINK.length))) {
    const cut = key.lastIndexOf(SEPARATOR);
    const view = views.find((each) => each.name === key.slice(0, cut));
    if (!view || !KEYS.includes(key.slice(cut + 1))) continue;
    view.choices.values.set(key.slice(cut + 1), value);
    first = first || view;
  }
  return first;
}

let writing = 0;

/** Keep the address in step with the choices, a moment after the last of them. */
function remember(views) {
  clearTimeout(writing);
  writing = setTimeout(() => {
    const link = fragment(views);
    try {
      history.replaceState(null, "", link || location.pathname + location.search);
    } catch { // a browser that does not let a local file change its address
      if (link) location.replace(link);
    }
  }, 150);
}
