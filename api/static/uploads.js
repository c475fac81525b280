// The form of an import: files are dropped on it, listed, and sent with their progress. Without this script the same
// form works by its own field.
"use strict";

const shortly = (bytes) => bytes >= 1048576 ? `${(bytes / 1048576).toFixed(1)} MB` : `${Math.max(1, Math.round(bytes / 1024))} KB`;
const counted = (n) => `${n} ${n === 1 ? "file" : "files"}`;

function uploads(form, kept = []) {
  const part = (name) => form.querySelector(`[data-${name}]`);
  const field = form.querySelector("input[type=file]");
  const mostBytes = Number(form.dataset.mostKilobytes) * 1024;
  const mostFiles = Number(form.dataset.mostFiles);
  let chosen = [...field.files, ...kept];
  let request;

  // A file that is dropped twice is sent once.
  const choose = (files) => {
    const named = new Map([...chosen, ...files].map((file) => [file.name, file]));
    chosen = [...named.values()];
    show();
  };
  const show = () => {
    const held = new DataTransfer();
    for (const file of chosen) held.items.add(file);
    field.files = held.files;
    part("chosen").replaceChildren(...chosen.map(line));
    part("chosen").hidden = chosen.length === 0;
    const bytes = chosen.reduce((sum, file) => sum + file.size, 0);
    const problem = chosen.length > mostFiles ? `One import takes ${mostFiles} files; remove ${chosen.length - mostFiles}.`
      : bytes > mostBytes ? `One import takes ${shortly(mostBytes)}; remove files of ${shortly(bytes - mostBytes)}.` : "";
    field.setCustomValidity(problem);
    part("total").textContent = chosen.length ? `${counted(chosen.length)}, ${shortly(bytes)}. ${problem}` : "";
    part("total").classList.toggle("wrong", problem !== "");
  };
  const line = (file, place) => {
    const item = document.createElement("li");
    const name = document.createElement("span");
    name.textContent = file.name;
    const size = document.createElement("span");
    size.className = "muted";
    size.textContent = shortly(file.size);
    const remove = document.createElement("button");
    remove.type = "button";
    remove.className = "slight";
    remove.textContent = "Remove";
    remove.setAttribute("aria-label", `Remove ${file.name}`);
    remove.addEventListener("click", () => {
      chosen = chosen.filter((_, at) => at !== place);
      show();
      (part("chosen").querySelectorAll("button")[Math.min(place, chosen.length - 1)] ?? field).focus();
    });
    item.append(name, size, remove);
    return item;
  };

  const zone = part("drop");
  let inside = 0;
  const over = (change) => {
    inside = Math.max(0, inside + change);
    zone.classList.toggle("over", inside > 0);
  };
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  zone.addEventListener("dragenter", (event) => { if (hasFiles(event)) { event.preventDefault(); over(1); } });
  zone.addEventListener("dragover", (event) => { if (hasFiles(event)) event.preventDefault(); });
  zone.addEventListener("dragleave", (event) => { if (hasFiles(event)) over(-1); });
  zone.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    over(-inside);
    choose(event.dataTransfer.files);
  });
  field.addEventListener("change", () => choose(field.files));

  const sending = (is) => {
    part("sending").hidden = !is;
    for (const button of form.querySelectorAll("button:not([data-stop])")) button.disabled = is;
  };
  const answered = () => {
    if (new URL(request.responseURL, location.href).pathname !== new URL(form.action).pathname) {
      location.assign(request.responseURL);
      return;
    }
    const shown = new DOMParser().parseFromString(request.responseText, "text/html").querySelector("main");
    document.querySelector("main").replaceWith(document.adoptNode(shown));
    // What was refused for one file is corrected and sent again without choosing the others.
    for (const other of document.querySelectorAll("form[data-uploads]")) uploads(other, request.status === 422 ? chosen : []);
    document.querySelector("main [role=alert], main [aria-invalid], main h1")?.scrollIntoView({ block: "center" });
  };
  const failed = (words) => {
    sending(false);
    part("total").textContent = words;
    part("total").classList.add("wrong");
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "text/html");
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      part("sent").max = total;
      part("sent").value = loaded;
      part("sent-words").textContent = loaded < total ? `${shortly(loaded)} of ${shortly(total)} sent`
        : `${shortly(total)} sent. The files are read and stored.`;
    });
    request.addEventListener("load", answered);
    request.addEventListener("error", () => failed("The connection was lost. Import the files again: those that are stored already are left as they are."));
    request.addEventListener("abort", () => failed("The upload was stopped."));
    request.send(new FormData(form));
    sending(true);
  });
  part("stop").addEventListener("click", () => request?.abort());
  part("drop-words").hidden = false;
  show();
}

for (const form of document.querySelectorAll("form[data-uploads]")) uploads(form);
