// Any quantity against any other: a marker for each model's mean, small points for its runs.

const HEIGHT = () => Math.min(460, Math.max(300, wide() * 0.75));
const NEAR = 26; // pixels within which a pointer means a point

function scatter(view) {
  const { choices } = view;
  const place = el("div", { class: "chart" });
  const hint = tip(place);
  const note = el("p", { class: "notes" });
  const controls = el("div", { class: "tools" });
  let points = [];
  const draw = () => {
    hint.hide();
    const plan = laidOut(view);
    place.querySelector(".drawing")?.remove();
    points = [];
    note.textContent = plan ? plan.note : "None of the models shown has both quantities.";
    if (!plan) return;
    const made = frame(place, plan.x, plan.y, HEIGHT(), `${plan.y.title} against ${plan.x.title}`);
    points = drawPoints(view, made, plan, hint);
    place.prepend(made.drawing);
    pointing(place, made, points, hint, view);
  };
  const redraw = whenSized(place, draw);
  return {
    place: el("div", null, el("h3", null, "Scores and cost"), controls, place, note),
    update(key) {
      if (key === "open" || key === "columns" || key === "curves" || key === "level" || key === "sort") return;
      controls.replaceChildren(...scatterControls(choices));
      redraw();
    },
  };
}

function scatterControls(choices) {
  const options = LOOKS.quantities.filter((each) => each.group !== "level").map((each) => [each.name, each.title]);
  const flag = (key, word, words) => checkbox(words, choices.list(key).includes(word), (on) => {
    const now = choices.list(key).filter((each) => each !== word);
    choices.set(key, on ? [...now, word] : now);
  });
  return [
    choice("up", options, choices.get("y"), (value) => choices.set("y", value)),
    choice("across", options, choices.get("x"), (value) => choices.set("x", value)),
    flag("scales", "x", "log across"), flag("scales", "y", "log up"),
    flag("marks", "seeds", "seeds"), flag("marks", "names", "names"), flag("marks", "spread", "deviations"),
    flag("marks", "all", "frame all"),
  ];
}

/** What is to be drawn: both axes, and the models with their runs. */
function laidOut(view) {
  const { choices } = view;
  const [xq, yq] = ["x", "y"].map((key) => QUANTITIES.get(choices.get(key)) || QUANTITIES.get(choices.defaults[key]));
  const models = view.shown().filter((model) => [xq, yq].every(({ name }) => isNumber(model.stats[name].mean)));
  const learned = models.filter((model) => !isTrivial(model));
  const framed = choices.list("marks").includes("all") || !learned.length ? models : learned;
  const axis = (quantity, key) => {
    const values = framed.flatMap((model) => [model.stats[quantity.name].mean,
      ...view.runs(model.label).map((run) => run[quantity.name])]).filter(isNumber).map((value) => value * quantity.scale);
    const isLog = choices.list("scales").includes(key) && values.every((value) => value > 0);
    const range = span(values, isLog);
    return range && { quantity, isLog, low: range[0], high: range[1], title: axisTitle(quantity) };
  };
  const [x, y] = [axis(xq, "x"), axis(yq, "y")];
  if (!x || !y) return null;
  const outside = models.filter((model) => !framed.includes(model)).map((model) => model.label);
  const refused = ["x", "y"].filter((key) => choices.list("scales").includes(key) && !(key === "x" ? x : y).isLog);
  return { x, y, models, framed: new Set(framed), note: noteOf(outside, refused, x, y) };
}

function noteOf(outside, refused, x, y) {
  const parts = ["Large markers are means over seeds, small ones single runs; choose one for its details."];
  if (outside.length) {
    parts.push(`At the edge where the frame does not hold them, knowing no more than the mean: ${outside.join(", ")}.`);
  }
  for (const key of refused) parts.push(`${(key === "x" ? x : y).title} is not positive throughout: no logarithms.`);
  return parts.join(" ");
}

function axisTitle(quantity) {
  if (quantity.direction === "none" || quantity.group === "cost") return quantity.title;
  return quantity.direction === "target" ? `${quantity.title}, nominal is best` : `${quantity.title}, lower is better`;
}

function drawPoints(view, made, plan, hint) {
  const marks = view.choices.list("marks");
  const [xq, yq] = [plan.x.quantity, plan.y.quantity];
  reference(made, plan.y, false);
  reference(made, plan.x, true);
  const points = [];
  for (const model of plan.models) {
    if (marks.includes("seeds")) points.push(...seedPoints(view, made, plan, model));
  }
  const means = plan.models.map((model) => meanPoint(made, plan, model, marks.includes("spread")));
  apart(means.filter((point) => point.isOut), made);
  means.sort((a, b) => a.x - b.x);
  means.forEach((point, place) => {
    point.mark = marker(point.model.label, point.x, point.y, 6, point.isOut ? "mean out" : "mean", { role: "button" });
    reachable(point, place, means, hint, made, view);
    made.over.append(point.mark);
  });
  if (marks.includes("names")) nameThem(made, means);
  const where = (point) => [point.model.label, ...[yq, xq].map((q) => `${q.title}: ${point.run
    ? plain(point.run[q.name] * q.scale) : meanSdText(point.model.stats[q.name], q)}`)];
  for (const point of [...points, ...means]) {
    point.lines = where(point);
    if (point.run) point.lines[0] += `, seed ${point.run.seed}`;
    else point.lines.push(`${point.model.done} of ${point.model.planned} runs`, ...point.model.flags);
    if (!point.run) point.mark.setAttribute("aria-label", point.lines.join(", "));
  }
  return [...means, ...points];
}

function reference(made, axis, isAcross) {
  const { trivial } = axis.quantity;
  if (trivial === null || trivial < axis.low || trivial > axis.high || (axis.isLog && trivial <= 0)) return;
  const at = (isAcross ? made.x : made.y).at(trivial);
  made.plane.append(ink("line", isAcross ? { class: "reference", x1: at, x2: at, y1: 0, y2: made.height }
    : { class: "reference", x1: 0, x2: made.width, y1: at, y2: at }));
}

function seedPoints(view, made, plan, model) {
  const [xq, yq] = [plan.x.quantity, plan.y.quantity];
  const runs = view.runs(model.label).filter((run) => isNumber(run[xq.name]) && isNumber(run[yq.name]));
  return runs.map((run) => {
    const [x, y] = [made.x.at(run[xq.name] * xq.scale), made.y.at(run[yq.name] * yq.scale)];
    made.plane.append(marker(model.label, x, y, 2.4, "seed"));
    return { model, run, x, y };
  }).filter(({ x, y }) => x >= 0 && x <= made.width && y >= 0 && y <= made.height);
}

/** The mean of a model; at the edge, and hollow, where it lies outside of the frame. */
function meanPoint(made, plan, model, withSpread) {
  const [sx, sy] = [model.stats[plan.x.quantity.name], model.stats[plan.y.quantity.name]];
  const [kx, ky] = [plan.x.quantity.scale, plan.y.quantity.scale];
  const [truly, upwards] = [made.x.at(sx.mean * kx), made.y.at(sy.mean * ky)];
  const [x, y] = [Math.min(made.width, Math.max(0, isNumber(truly) ? truly : 0)), Math.min(made.height, Math.max(0, upwards))];
  const isOut = x !== truly || y !== upwards;
  if (withSpread && !isOut) {
    made.plane.append(spreadLine(made, sx, kx, y, true, model), spreadLine(made, sy, ky, x, false, model));
  }
  return { model, run: null, x, y, isOut };
}

/** Those at the edge beside each other, with room for their names, instead of on top of each other. */
function apart(outside, made) {
  const placed = [];
  for (const point of outside) {
    const isUpright = point.y > 0 && point.y < made.height;
    const room = (each) => 30 + LETTER * (each.x <= point.x ? each : point).model.label.length; // its name is to its right
    const clash = () => placed.find((each) => Math.abs(each.y - point.y) < 14
      && (isUpright || Math.abs(each.x - point.x) < room(each)));
    for (let tries = 0; tries <= placed.length && clash(); tries += 1) {
      if (isUpright) point.y = Math.min(made.height, point.y + 16);
      else point.x = Math.min(made.width, clash().x + 30 + LETTER * clash().model.label.length);
    }
    placed.push(point);
  }
}

function spreadLine(made, stat, factor, other, isAcross, model) {
  const sd = isNumber(stat.sd) ? stat.sd : 0;
  const axis = isAcross ? made.x : made.y;
  const ends = [stat.mean - sd, stat.mean + sd].map((value) => axis.at(Math.max(value * factor, axis.low > 0 ? axis.low / 10 : -Infinity)));
  const line = { ...lined(model.label, "spread", 1), "stroke-dasharray": "none" };
  return ink("line", isAcross ? { ...line, x1: ends[0], x2: ends[1], y1: other, y2: other }
    : { ...line, x1: other, x2: other, y1: ends[0], y2: ends[1] });
}

/** By keyboard the means are one stop; arrows go from one to the next, Enter opens the details. */
function reachable(point, place, means, hint, made, view) {
  const go = (step) => {
    const next = means[Math.min(means.length - 1, Math.max(0, place + step))];
    point.mark.setAttribute("tabindex", -1);
    next.mark.setAttribute("tabindex", 0);
    next.mark.focus();
  };
  const keys = {
    ArrowRight: () => go(1), ArrowDown: () => go(1), ArrowLeft: () => go(-1), ArrowUp: () => go(-1),
    Home: () => go(-means.length), End: () => go(means.length),
    Enter: () => view.choices.set("open", point.model.label), " ": () => view.choices.set("open", point.model.label),
  };
  fill(point.mark, {
    tabindex: place === 0 ? 0 : -1,
    keydown: (event) => {
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    },
    focus: () => {
      view.light(point.model.label);
      hint.show(point.lines, point.x + made.margin.left, point.y + made.margin.top);
    },
    blur: () => {
      view.light(null);
      hint.hide();
    },
  }, []);
}

/** Names beside the markers, as far as there is room; the others are told when pointed at. */
function nameThem(made, means) {
  const taken = means.map((point) => [point.x - 6, point.y - 6, point.x + 6, point.y + 6]);
  const free = ([a, b, c, d]) => a >= -2 && c <= made.width + 8 && b >= -12 && d <= made.height + 2
    && taken.every(([e, f, g, h]) => c < e || a > g || d < f || b > h);
  for (const { x, y, model, isOut } of means) {
    const length = model.label.length * LETTER;
    const boxes = [[x + 9, y - 7, x + 9 + length, y + 6], [x - 9 - length, y - 7, x - 9, y + 6],
      [x - length / 2, y - 21, x + length / 2, y - 9], [x - length / 2, y + 9, x + length / 2, y + 21]];
    const box = boxes.find(free);
    if (!box) continue;
    taken.push(box);
    made.over.append(ink("text", { class: `label${isOut ? " out" : ""}`, x: box[0], y: box[3] - 2,
      "data-label": model.label, "aria-hidden": "true" }, model.label));
  }
}

function pointing(place, made, points, hint, view) {
  let tipped = null;
  const nearest = (event) => {
    const [px, py] = inside(event, made);
    let found = null;
    let least = NEAR;
    for (const point of points) {
      const distance = Math.hypot(point.x - px, point.y - py) + (point.run ? 3 : 0);
      if (distance < least) [found, least] = [point, distance];
    }
    return found;
  };
  const tell = (event) => {
    const point = nearest(event);
    if (point === tipped) return;
    tipped = point;
    view.light(point && point.model.label);
    if (point) hint.show(point.lines, point.x + made.margin.left, point.y + made.margin.top);
    else hint.hide();
  };
  fill(made.drawing, {
    pointermove: tell,
    pointerleave: (event) => {
      if (event.pointerType === "touch") return; // a finger that was lifted still means what it touched
      tipped = null;
      view.light(null);
      hint.hide();
    },
    click: (event) => { // a finger first sees what it would open
      const point = nearest(event);
      if (point && (event.pointerType !== "touch" || point === tipped)) view.choices.set("open", point.model.label);
      else tell(event);
      tipped = point;
    },
  }, []);
}
