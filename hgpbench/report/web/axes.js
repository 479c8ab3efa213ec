// Axes: scales, ticks, and a drawing area that fits its place.

const LETTER = 7; // pixels of a letter of the drawings, about

/** Round values that readers count in, some `most` of them. */
function linearTicks(low, high, most) {
  const rough = (high - low) / Math.max(1, most);
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * size).find((each) => each >= rough * 0.999);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) ticks.push(k * step);
  return ticks.map((tick) => Number(tick.toPrecision(12)));
}

function logTicks(low, high, most) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const decades = Math.log10(high / low);
  const every = Math.ceil(decades / Math.max(2, most));
  const ticks = [];
  for (let k = first; k <= last; k += every) {
    for (const part of decades < 1.7 ? [1, 2, 5] : [1]) ticks.push(part * 10 ** k);
  }
  const kept = ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
  return kept.length > 1 ? kept : linearTicks(low, high, most).filter((tick) => tick > 0); // a short axis
}

function tickText(value) {
  const text = Number(value.toPrecision(6));
  return Math.abs(text) >= 1e5 || (text !== 0 && Math.abs(text) < 1e-3) ? text.toExponential() : String(text);
}

/** From values to pixels: `at`, with the ticks that go with it. */
function scale(low, high, start, end, isLog) {
  const place = isLog ? Math.log : (value) => value;
  const [a, b] = [place(low), place(high)];
  const most = Math.max(2, Math.abs(end - start) / (start < end ? 80 : 45));
  return {
    low, high,
    at: (value) => start + ((place(value) - a) / (b - a || 1)) * (end - start),
    back: (pixel) => {
      const value = a + ((pixel - start) / (end - start)) * (b - a);
      return isLog ? Math.exp(value) : value;
    },
    ticks: isLog ? logTicks(low, high, most) : linearTicks(low, high, most),
  };
}

/** A range around values with some room, [low, high]; null without any. */
function span(values, isLog, room = 0.06) {
  const kept = values.filter((value) => isNumber(value) && (!isLog || value > 0));
  if (!kept.length) return null;
  let [low, high] = [Infinity, -Infinity];
  for (const value of kept) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (isLog) {
    const margin = Math.max((high / low) ** room, 1.15);
    return [low / margin, high * margin];
  }
  const margin = (high - low) * room || Math.abs(high) * 0.1 || 1;
  return [low - margin, high + margin];
}

/**
 * Room for axes in an element: {drawing, plane, x, y, width, height}.
 *
 * `plane` is cut off at the frame; `drawing` holds everything. `xs` and `ys` are {low, high, isLog, title}.
 */
function frame(place, xs, ys, height, words) {
  const width = Math.max(260, place.clientWidth || 700);
  const narrow = width < 480;
  const margin = { left: narrow ? 52 : 60, right: 12, top: 10, bottom: 44 };
  const x = scale(xs.low, xs.high, 0, width - margin.left - margin.right, xs.isLog);
  const y = scale(ys.low, ys.high, height - margin.top - margin.bottom, 0, ys.isLog);
  const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
  const plane = ink("svg", { class: "plane", x: margin.left, y: margin.top, ...inner });
  const over = ink("g", { transform: `translate(${margin.left} ${margin.top})` });
  const drawing = ink("svg", { class: "drawing", width, height, viewBox: `0 0 ${width} ${height}`, role: "group",
    "aria-label": words },
    grid(x, y, margin, inner), titles(xs.title, ys.title, margin, inner, height), plane, over);
  return { drawing, plane, over, x, y, margin, ...inner };
}

function grid(x, y, margin, inner) {
  const shown = x.ticks.filter((tick, i) => i === 0 || x.at(tick) - x.at(x.ticks[i - 1]) > 26);
  return ink("g", { class: "grid", "aria-hidden": "true", transform: `translate(${margin.left} ${margin.top})` },
    shown.map((tick) => [
      ink("line", { x1: x.at(tick), x2: x.at(tick), y1: 0, y2: inner.height }),
      ink("text", { x: x.at(tick), y: inner.height + 16, "text-anchor": "middle" }, tickText(tick))]),
    y.ticks.map((tick) => [
      ink("line", { x1: 0, x2: inner.width, y1: y.at(tick), y2: y.at(tick) }),
      ink("text", { x: -7, y: y.at(tick) + 4, "text-anchor": "end" }, tickText(tick))]),
    ink("path", { class: "axis", d: `M0 0V${inner.height}H${inner.width}` }));
}

function titles(across, upwards, margin, inner, height) {
  const middle = margin.top + inner.height / 2;
  return ink("g", { class: "titles", "aria-hidden": "true" },
    ink("text", { x: margin.left + inner.width / 2, y: height - 8, "text-anchor": "middle" }, across),
    ink("text", { x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, upwards));
}

/** A few lines of words beside the pointer, or beside what has the focus. */
function tip(place) {
  const box = el("div", { class: "tip", role: "status", hidden: true });
  place.append(box);
  return {
    show(lines, x, y) {
      box.replaceChildren(...lines.map((line, i) => el(i ? "div" : "strong", null, line)));
      box.hidden = false;
      const left = Math.min(x + 14, place.clientWidth - box.offsetWidth - 4);
      box.style.left = `${Math.max(0, left)}px`;
      box.style.top = `${y - box.offsetHeight - 12 < 0 ? y + 16 : y - box.offsetHeight - 12}px`;
    },
    hide() {
      box.hidden = true;
    },
  };
}

/** Where a pointer is inside a frame, in its pixels. */
function inside(event, made) {
  const box = made.drawing.getBoundingClientRect();
  return [event.clientX - box.left - made.margin.left, event.clientY - box.top - made.margin.top];
}

/**
 * Draw whenever a place changes its width, at first when the browser has laid it out by itself: asking for a width
 * before would have it lay out everything twice. Gives what draws anew for another reason, once there is a width.
 */
function whenSized(place, draw) {
  let width = 0;
  new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now === width || now === 0) return;
    width = now;
    draw();
  }).observe(place);
  return () => {
    if (width) draw();
  };
}
