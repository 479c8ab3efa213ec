// Curves of models: calibration, the density of the noise variance, convergence.

const CURVES_AT_FIRST = 6;
const GRID = 160;

/**
 * A drawing of curves in an element. `series` are {label, words, points: [[x, y], ...], at}, where `at` is the
 * place of a vertical line instead of points; `before` draws what lies behind, inside the frame.
 */
function curveChart(place, { xs, ys, series, height, words, before, view, format }) {
  place.querySelector(".drawing")?.remove();
  const made = frame(place, xs, ys, height, words);
  if (before) before(made);
  for (const each of series) made.plane.append(...curveOf(each, made));
  place.prepend(made.drawing);
  const hint = place.hint || (place.hint = tip(place));
  hint.hide();
  fill(made.drawing, {
    pointermove: (event) => {
      const [px, py] = inside(event, made);
      const found = nearestCurve(series, made, px, py);
      view?.light(found && found.each.label);
      if (found) hint.show([found.each.words, ...format(found.value, found.each)], px + made.margin.left, py + made.margin.top);
      else hint.hide();
    },
    pointerleave: () => {
      view?.light(null);
      hint.hide();
    },
  }, []);
}

function curveOf(each, made) {
  const shared = lined(each.label, "");
  if (each.dashes) shared["stroke-dasharray"] = each.dashes;
  if (each.at !== undefined) {
    return each.at.map((x) => ink("line", { ...shared, x1: made.x.at(x), x2: made.x.at(x), y1: 0, y2: made.height }));
  }
  const path = each.points.map(([x, y], i) => `${i ? "L" : "M"}${made.x.at(x).toFixed(1)} ${made.y.at(y).toFixed(1)}`);
  return [ink("path", { ...shared, fill: "none", d: path.join("") })];
}

/** The curve that comes closest to the pointer, and its value there; null where none is near. */
function nearestCurve(series, made, px, py) {
  let found = null;
  let least = NEAR;
  for (const each of series) {
    for (const [x, y] of each.at ? each.at.map((at) => [at, made.y.back(py)]) : each.points) {
      const distance = Math.hypot(made.x.at(x) - px, made.y.at(y) - py);
      if (distance < least) [found, least] = [{ each, value: [x, y] }, distance];
    }
  }
  return found;
}

/** Both pictures of curves with one legend, whose chips switch curves on and off. */
function curvePanel(view) {
  const { choices } = view;
  const able = view.models.filter((model) => model.pit.length);
  const first = () => sorted(view.shown(), "msll").filter((model) => model.pit.length && !isTrivial(model))
    .slice(0, CURVES_AT_FIRST).map((model) => model.label);
  const on = () => new Set(choices.list("curves") || first());
  const legend = chips(able, (label) => on().has(label), (label) => {
    const now = on();
    if (!now.delete(label)) now.add(label);
    choices.set("curves", able.map((model) => model.label).filter((each) => now.has(each)));
  }, view);
  legend.place.setAttribute("aria-label", "Curves to show");
  const parts = [calibrationChart(view), noiseChart(view)];
  const shown = () => view.shown().filter((model) => on().has(model.label));
  const redraws = parts.map((part) => whenSized(part.chart, () => part.draw(shown())));
  const all = button("all", () => choices.set("curves", able.map((model) => model.label)));
  const none = button("none", () => choices.set("curves", []));
  const detail = el("p", { class: "notes" }, "Curves of the models that are switched on; of the six best by MSLL at first.");
  return {
    place: el("div", null, el("div", { class: "pair" }, parts.map((part) => part.place)),
      el("div", { class: "tools" }, "Curves ", all, none), legend.place, detail),
    update(key) {
      if (!(key === null || ["hide", "filter", "curves", "level"].includes(key))) return;
      legend.update(new Set(view.shown().map((model) => model.label)));
      parts.forEach((part) => part.control?.());
      redraws.forEach((redraw) => redraw());
    },
  };
}

/** Share of targets inside the central intervals of 0, 1, ..., 100 per cent, from counts in equal bins. */
function coverageOf(pit) {
  const half = pit.length / 2;
  const total = pit.reduce((sum, count) => sum + count, 0);
  const inside = [0];
  for (let k = 0; k < half; k += 1) inside.push(inside[k] + (pit[half + k] + pit[half - 1 - k]) / total);
  return inside.map((share, k) => [(100 * k) / half, 100 * share]);
}

function calibrationChart(view) {
  const { choices } = view;
  const chart = el("div", { class: "chart" });
  const controls = el("div", { class: "tools" });
  const draw = (models) => {
    const isDifference = choices.get("level") !== "share";
    const value = ([level, share]) => [level, isDifference ? share - level : share];
    const series = models.map((model) => ({ label: model.label, words: model.label, points: coverageOf(model.pit).map(value) }));
    const rows = Math.max(0, ...models.map((model) => model.pit.reduce((sum, count) => sum + count, 0)));
    const range = span([-3, 3, ...series.flatMap((each) => each.points.map(([, y]) => y))], false);
    const ys = isDifference ? { low: range[0], high: range[1], title: "covered − nominal [points]" }
      : { low: 0, high: 100, title: "covered [%]" };
    curveChart(chart, { xs: { low: 0, high: 100, title: "nominal coverage [%]" }, ys, series, height: 300, view,
      words: "Calibration of central intervals", before: (made) => chance(made, rows, isDifference),
      format: ([level, share]) => [`nominal ${plain(level, 3)} %`, `covered ${plain(isDifference ? share + level : share, 3)} %`] });
  };
  return {
    chart, draw,
    place: el("div", null, el("h3", null, "Calibration"), controls, chart,
      el("p", { class: "notes" }, "Grey: what chance allows 19 times of 20, had all rows been drawn afresh. Below the line, intervals are too narrow.")),
    control: () => controls.replaceChildren(choice("show", [["difference", "covered − nominal"], ["share", "covered"]],
      choices.get("level"), (value) => choices.set("level", value))),
  };
}

function chance(made, rows, isDifference) {
  const levels = Array.from({ length: 51 }, (_, k) => 2 * k);
  const reach = (level) => (rows ? 196 * Math.sqrt(((level / 100) * (1 - level / 100)) / rows) : 0);
  const middle = (level) => (isDifference ? 0 : level);
  const edge = (way) => levels.map((level) => `${made.x.at(level).toFixed(1)} ${made.y.at(middle(level) + way * reach(level)).toFixed(1)}`);
  made.plane.append(
    ink("path", { class: "chance", d: `M${edge(1).join("L")}L${edge(-1).reverse().join("L")}Z` }),
    ink("line", { class: "reference", x1: 0, x2: made.width, y1: made.y.at(middle(0)), y2: made.y.at(middle(100)) }));
}

/** Kernel density of a sample at each place of a grid. */
function density(sample, grid) {
  const mean = sample.reduce((sum, value) => sum + value, 0) / sample.length;
  const sd = Math.sqrt(sample.reduce((sum, value) => sum + (value - mean) ** 2, 0) / sample.length);
  const at = (q) => sample[Math.round(q * (sample.length - 1))];
  const spread = Math.min(sd, (at(0.75) - at(0.25)) / 1.34) || sd;
  const width = Math.max(0.9 * spread * sample.length ** -0.2, grid[1] - grid[0]);
  return grid.map((place) => [place, sample.reduce((sum, value) => sum + Math.exp(-0.5 * ((place - value) / width) ** 2), 0)
    / (sample.length * width * Math.sqrt(2 * Math.PI))]);
}

function noiseChart(view) {
  const chart = el("div", { class: "chart" });
  const truth = view.experiment.noise_truth;
  const draw = (models) => {
    const told = models.filter((model) => model.log_noise.length);
    const bulk = (sample) => [sample[Math.round(0.01 * (sample.length - 1))], sample[Math.round(0.99 * (sample.length - 1))]];
    const range = span([...(truth.length ? bulk(truth) : []), ...told.flatMap((model) => (model.constant_noise
      ? model.log_noise : bulk(model.log_noise)))], false, 0.12) || [-1, 1];
    const grid = Array.from({ length: GRID }, (_, k) => range[0] + ((range[1] - range[0]) * k) / (GRID - 1));
    const series = told.map((model) => (model.constant_noise
      ? { label: model.label, words: model.label, at: model.log_noise }
      : { label: model.label, words: model.label, points: density(model.log_noise, grid) }));
    const real = truth.length ? density(truth, grid) : [];
    const peaks = [...series.filter((each) => each.points).map((each) => each.points), ...(real.length ? [real] : [])]
      .map((points) => Math.max(...points.map(([, y]) => y))).sort((a, b) => a - b);
    const top = Math.min(peaks.at(-1) ?? 1, 4 * (peaks[Math.floor(peaks.length / 2)] ?? 1)); // a spike is cut off
    curveChart(chart, { xs: { low: range[0], high: range[1], title: "log noise variance" },
      ys: { low: 0, high: 1.05 * top, title: "density" }, series, height: 300, view, words: "Noise variance over test points",
      before: (made) => real.length && made.plane.append(ink("path", { class: "truth", d: `M${real.map(([x, y]) => (
        `${made.x.at(x).toFixed(1)} ${made.y.at(y).toFixed(1)}`)).join("L")}L${made.width} ${made.height}L0 ${made.height}Z` })),
      format: ([x], each) => [each.at ? "constant noise" : "varying noise", `log variance ${plain(x, 3)}`] });
  };
  return {
    chart, draw,
    place: el("div", null, el("h3", null, "Noise"), chart, el("p", { class: "notes" },
      `Over test points and seeds. A vertical line is noise that is constant (deviation within 5 %), one for each seed.${truth.length ? " Grey: the truth." : ""}`)),
  };
}
