"use strict";

// Small tools: elements without markup, numbers as the tables print them, how models look.

const DATA = JSON.parse(document.getElementById("data").textContent);
const LOOKS = JSON.parse(document.getElementById("looks").textContent);
const QUANTITIES = new Map(LOOKS.quantities.map((each) => [each.name, each]));
const SIGNS = new Map([["no better than the mean", "†"], ["badly calibrated", "‡"]]);
const INK = document.getElementById("ink").namespaceURI;

// Within a square of side two around the origin.
const SHAPES = {
  circle: "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0Z",
  square: "M-.88-.88H.88V.88H-.88Z",
  "triangle up": "M0-1.05L1 .8H-1Z",
  "triangle down": "M0 1.05L1-.8H-1Z",
  "triangle left": "M-1.05 0L.8-1V1Z",
  "triangle right": "M1.05 0L-.8-1V1Z",
  diamond: "M0-1.15L1.15 0L0 1.15L-1.15 0Z",
  "thin diamond": "M0-1.2L.75 0L0 1.2L-.75 0Z",
  plus: "M-.35-1H.35V-.35H1V.35H.35V1H-.35V.35H-1V-.35H-.35Z",
  cross: "M-.6-1L0-.45L.6-1L1-.6L.45 0L1 .6L.6 1L0 .45L-.6 1L-1 .6L-.45 0L-1-.6Z",
  pentagon: "M0-1.05L1-.32L.62.85H-.62L-1-.32Z",
  star: "M0-1.2L.3-.4L1.15-.37L.48.15L.7.97L0 .5L-.7.97L-.48.15L-1.15-.37L-.3-.4Z",
};

/** Fill a new element: functions become listeners, null and false leave an attribute out, text stays text. */
function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false));
  return made;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function ink(tag, attributes, ...children) {
  return fill(document.createElementNS(INK, tag), attributes, children);
}

function button(words, pressed, attributes) {
  return el("button", { type: "button", click: pressed, ...attributes }, words);
}

function checkbox(words, checked, changed) {
  const box = el("input", { type: "checkbox", change: () => changed(box.checked) });
  box.checked = checked;
  return el("label", { class: "check" }, box, " ", words);
}

/** A labelled list to choose from; options are [value, words]. */
function choice(words, options, chosen, changed) {
  const list = el("select", { change: () => changed(list.value) },
    options.map(([value, said]) => el("option", { value }, said)));
  list.value = chosen;
  return el("label", { class: "choice" }, words, " ", list);
}

// Numbers

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const power = (value) => Math.floor(Math.log10(Math.abs(value)));
const exponential = (text) => text.replace(/e([-+])(\d)$/, "e$10$2");

/** So many places; what lies in the very middle goes to the even digit, as the printed tables have it. */
function fixed(value, places) {
  const text = value.toFixed(places);
  const isMiddle = /^50*$/.test(value.toFixed(places + 40).slice(-40));
  if (!isMiddle || Number(text.at(-1)) % 2 === 0) return text;
  return value.toFixed(places + 1).slice(0, -1).replace(/\.$/, "");
}

/** One number with so many significant digits. */
function plain(value, digits = 4) {
  if (!isNumber(value)) return "–";
  if (value === 0) return "0";
  if (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e6) return exponential(value.toExponential(digits - 1));
  const rounded = Number(value.toExponential(digits - 1)); // 0.99996 is 1.000, not 1.0000
  return fixed(value, Math.max(0, digits - 1 - power(rounded)));
}

function fixedPair(mean, sd, most) {
  const wanted = 1 - power(Number(sd.toExponential(1)));
  const places = Math.max(0, Math.min(wanted, most - 1 - power(Math.max(Math.abs(mean), sd))));
  const text = fixed(mean, places);
  const spread = fixed(sd, places);
  return [Number(text) === 0 ? text.replace("-", "") : text,
    Number(spread) ? spread : `<${(10 ** -places).toFixed(places)}`];
}

/** Mean and deviation as the tables print them: [text of the mean, text of the deviation or nothing]. */
function meanSd(stat, quantity) {
  if (!stat || !stat.n) return ["–", ""];
  const mean = stat.mean === null ? NaN : stat.mean * quantity.scale;
  const sd = stat.sd === null ? NaN : stat.sd * quantity.scale;
  if (!isNumber(mean)) return ["–", ""];
  const nothing = Math.abs(mean) <= 1e-12 && !(sd > 1e-12);
  if (nothing && quantity.group !== "cost" && !quantity.unit) return ["0", ""];
  if (quantity.log && Math.abs(mean) < 5e-5 && !(sd >= 5e-5)) return ["0.0000", ""];
  if (!isNumber(sd)) return [plain(mean), ""];
  if (sd <= 1e-9 * Math.abs(mean)) return [plain(mean), "0"];
  const size = Math.max(Math.abs(mean), sd);
  const digits = stat.n < 3 ? Math.min(quantity.digits, 4) : quantity.digits;
  if (size >= 1e-4 && size < 1e6) return fixedPair(mean, sd, digits);
  const [text, spread] = fixedPair(mean / 10 ** power(size), sd / 10 ** power(size), digits);
  return [`(${text}`, `${spread})${exponential(`e${power(size) < 0 ? "-" : "+"}${Math.abs(power(size))}`)}`];
}

function meanSdText(stat, quantity) {
  const [mean, sd] = meanSd(stat, quantity);
  return sd ? `${mean} ± ${sd}` : mean;
}

// Looks

const NO_LOOK = { colour: "currentColor", dark: "currentColor", marker: "circle", dashes: [], family: "own" };
const lookOf = (label) => LOOKS.styles[label] || NO_LOOK;

/** Attributes of what is drawn in a model's colour; the style sheet chooses the one that suits the ground. */
function toned(label, classes) {
  const { colour, dark } = lookOf(label);
  return { class: `toned ${classes}`, style: `--light: ${colour}; --dark: ${dark}`, "data-label": label };
}

/** The same for a line, with the model's dashes. */
function lined(label, classes, width = 1.8) {
  const dashes = lookOf(label).dashes.map((length) => (length * width).toFixed(1)).join(" ");
  return { ...toned(label, `curve ${classes}`), "stroke-width": width, "stroke-dasharray": dashes || "none" };
}

/** A model's marker. */
function marker(label, x, y, size, classes, attributes) {
  return ink("path", {
    d: SHAPES[lookOf(label).marker] || SHAPES.circle,
    transform: `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${size})`,
    ...toned(label, `mark ${classes}`),
    ...attributes,
  });
}

/** Line and marker of a model, as in a legend. */
function swatch(label) {
  return ink("svg", { class: "swatch", width: 26, height: 12, viewBox: "0 0 26 12", "aria-hidden": "true" },
    ink("line", { x1: 0, x2: 26, y1: 6, y2: 6, ...lined(label, "", 1.5) }), marker(label, 13, 6, 4.5, ""));
}

const signsOf = (model) => model.flags.map((flag) => SIGNS.get(flag) || "").join("");

/** Whether a model knows no more than the mean and variance of the training targets. */
function isTrivial(model) {
  const { msll, interval95 } = model.stats;
  const exact = Math.abs(msll.mean) <= 1e-9 && Math.abs(interval95.mean - 1) <= 1e-9;
  return model.flags.includes("no better than the mean") || (msll.n > 0 && exact);
}

/** Hand a text to the reader as a file. */
function download(name, kind, text) {
  const address = URL.createObjectURL(new Blob([text], { type: kind }));
  const link = el("a", { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
