// What htmx does not do. Without this script everything works except copying.
"use strict";

const times = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

// /ui/login#TOKEN: the address that `ragq up` prints once. What is after # is never sent, and leaves the history.
const login = document.querySelector("form[action$='/login']");
if (login && location.hash.startsWith("#ragq_")) {
  login.elements.token.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  login.requestSubmit();
}

// <button hidden data-copy="#prompt">: copies the text of an element, and reports it in the element after the button.
async function copy(button) {
  const text = document.querySelector(button.dataset.copy).textContent;
  // Browsers give no clipboard to a page of another machine that came without TLS.
  const done = await navigator.clipboard?.writeText(text).then(() => true, () => false);
  button.nextElementSibling.textContent = done ? "Copied." : "The browser refused; select the text and copy it.";
}
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
});

// <section data-stream="/rag/queries/7/augment/stream">: the answer while a model writes it, anew after a lost connection.
function follow(section) {
  const text = section.querySelector("pre");
  const status = section.querySelector("[role=status]");
  const source = new EventSource(section.dataset.stream);
  const on = (name, act) => source.addEventListener(name, (event) => act(JSON.parse(event.data)));
  const begin = (words) => {
    text.textContent = "";
    status.textContent = words;
  };
  const end = (words) => {
    source.close();
    status.textContent = words;
  };
  on("waiting", () => begin("The model has not begun to write."));
  on("started", ({ attempt }) => {
    const again = attempt > 1 ? ` Attempt ${attempt} writes it from the beginning.` : "";
    begin(`Not stored yet: the answer counts when it is complete.${again}`);
  });
  on("text", (event) => {
    const atEnd = text.scrollHeight - text.scrollTop - text.clientHeight < 40;
    text.append(event.text);
    section.hidden = false;
    if (atEnd) text.scrollTop = text.scrollHeight;
  });
  on("failed", ({ stage, message }) => {
    text.textContent = "";
    text.hidden = true;
    end(`There is no answer: stage ${stage} failed. ${message}`);
  });
  on("idle", () => end("No answer is being written."));
  on("answer", ({ query_id, result_id }) => {
    text.hidden = true;
    end("The answer is stored. ");
    const link = document.createElement("a");
    link.href = `/rag/${query_id}/results/${result_id}`;
    link.textContent = `Answer ${result_id}, with its sources`;
    status.append(link);
  });
}
for (const section of document.querySelectorAll("[data-stream]")) follow(section);

// <input type="range" hidden data-slides>: a slider for the number field after it.
function slide(slider) {
  slider.hidden = false;
  slider.value = slider.nextElementSibling.value;
}
function slid(target) {
  if (target.matches("[data-slides]")) target.nextElementSibling.value = target.value;
  if (target.previousElementSibling?.matches("[data-slides]")) slide(target.previousElementSibling);
}

// <form data-unsaved="#id">: shows there how many fields are changed, and asks before the page is left with changes.
// With data-changed the form came back unsaved.
const isChanged = (field) => {
  if (!field.name || field.type === "hidden") return false;
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  if (field.options) return [...field.options].some((option) => option.selected !== option.defaultSelected);
  // A field of one line drops the line ends of its value.
  return field.value !== (field.type === "textarea" ? field.defaultValue : field.defaultValue.replace(/[\r\n]/g, ""));
};
function unsaved(form) {
  const changed = [...form.elements].filter(isChanged).length;
  const shown = document.querySelector(form.dataset.unsaved);
  shown.textContent = changed ? `${changed} unsaved ${changed === 1 ? "change" : "changes"}`
    : "changed" in form.dataset ? "Not saved yet." : "";
  return changed > 0 || "changed" in form.dataset;
}
let leaving = false;
document.addEventListener("submit", (event) => { leaving = event.target.matches("form[data-unsaved]"); });
window.addEventListener("beforeunload", (event) => {
  if (!leaving && [...document.querySelectorAll("form[data-unsaved]")].some(unsaved)) event.preventDefault();
});
document.addEventListener("reset", (event) => {
  if (event.target.matches("form[data-unsaved]")) setTimeout(() => {
    for (const slider of event.target.querySelectorAll("[data-slides]")) slide(slider);
    unsaved(event.target);
  });
});

document.addEventListener("input", (event) => {
  slid(event.target);
  if (event.target.form?.matches("[data-unsaved]")) unsaved(event.target.form);
});
// <select data-submits>: another choice is shown at once, before an event loads the page again without it.
document.addEventListener("change", (event) => {
  if (event.target.matches("select[data-submits]")) event.target.form.requestSubmit();
});

// After a swap by htmx: folds that were open are open, tables keep their scroll position, and the focus is kept.
const focusable = "a[href], button, summary, input, select, textarea";
let open = [];
let scrolled = [];
let focused;
function whereFocusIs() {
  const element = document.activeElement;
  const host = element?.closest("[id]");
  if (!host) return undefined;
  return { id: host.id, place: [...host.querySelectorAll(focusable)].indexOf(element), text: element.textContent };
}
function focusAgain({ id, place, text }) {
  const host = document.getElementById(id);
  const element = place < 0 ? host : host?.querySelectorAll(focusable)[place];
  if (element?.textContent === text) element.focus({ preventScroll: true });
}
document.addEventListener("htmx:beforeSwap", () => {
  open = [...document.querySelectorAll("details[open][id]")].map((fold) => fold.id);
  scrolled = [...document.querySelectorAll(".scroll[id]")].map((box) => [box.id, box.scrollLeft]);
  focused = whereFocusIs();
});
document.addEventListener("htmx:afterSwap", () => {
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  for (const [id, left] of scrolled) document.getElementById(id)?.scrollTo({ left, behavior: "instant" });
  if (focused && document.activeElement === document.body) focusAgain(focused);
  prepare();
});

function prepare() {
  // In the reader's time zone and locale.
  for (const time of document.querySelectorAll("time[datetime]")) time.textContent = times.format(new Date(time.dateTime));
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
  for (const slider of document.querySelectorAll("[data-slides]")) slide(slider);
  for (const form of document.querySelectorAll("form[data-unsaved]")) unsaved(form);
}
prepare();
