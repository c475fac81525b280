// The form of an import: files are dropped on it, listed, and sent with their progress. Without this script the same
// form works by its own field.
"use strict";

const shortly = (bytes) => bytes >= 1048576 ? `${(bytes / 1048576).toFixed(1)} MB` : `${Math.max(1, Math.round(bytes / 1024))} KB`;
const counted = (n) => `${n} ${n === 1 ? "file" : "files"}`;

// Where a file was in what was chosen or dropped: a file that is dropped does not know it.
const dropPaths = new WeakMap();
const pathOf = (file) => file.webkitRelativePath || dropPaths.get(file) || file.name;

// What was dropped, folders with all that is in them. A browser has the entries only until the event has ended.
async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry());
  if (!entries.every(Boolean)) return { files: [...transfer.files], hasFolder: false };
  const promised = (ask) => new Promise(ask);
  const files = [];
  for (const entry of entries) {
    if (entry.isFile) {
      const file = await promised((done, failed) => entry.file(done, failed));
      dropPaths.set(file, entry.fullPath.replace(/^\//, ""));
      files.push(file);
    } else {
      const reader = entry.createReader();
      let some;
      while ((some = await promised((done, failed) => reader.readEntries(done, failed))).length) entries.push(...some);
    }
  }
  return { files, hasFolder: entries.some((entry) => entry.isDirectory) };
}

function uploads(form, kept = []) {
  const part = (name) => form.querySelector(`[data-${name}]`);
  const field = form.querySelector("input[name=files]");
  const folder = part("folder");
  const mostBytes = Number(form.dataset.mostKilobytes) * 1024;
  const mostFiles = Number(form.dataset.mostFiles);
  let chosen = [...field.files, ...kept];
  let request;
  let isDryRun = false;

  const sum = (files) => files.reduce((bytes, file) => bytes + file.size, 0);

  // A file that is chosen twice is sent once.
  const choose = (files) => {
    const paths = new Set([...files].map(pathOf));
    chosen = [...chosen.filter((file) => !paths.has(pathOf(file))), ...files];
    show();
  };
  // Of files of one name, all but that in the fewest folders have these before it, which keeps their works apart.
  const named = () => {
    const depth = (file) => pathOf(file).split("/").length;
    const first = new Map();
    for (const file of chosen) {
      const other = first.get(file.name);
      const isFirst = !other || depth(file) < depth(other) || (depth(file) === depth(other) && pathOf(file) < pathOf(other));
      if (isFirst) first.set(file.name, file);
    }
    return (file) => first.get(file.name) === file ? file.name : pathOf(file);
  };
  const fitting = (files) => {
    let bytes = 0;
    return files.slice(0, mostFiles).filter((file) => (bytes += file.size) <= mostBytes);
  };
  const show = () => {
    const held = new DataTransfer();
    for (const file of chosen) held.items.add(file);
    field.files = held.files;
    part("chosen").replaceChildren(...chosen.map(line));
    part("chosen").hidden = chosen.length === 0;
    const bytes = sum(chosen);
    const tooMany = chosen.length > mostFiles || bytes > mostBytes;
    const problem = chosen.length > mostFiles ? `One import takes ${mostFiles} files, and ${chosen.length} are chosen.`
      : bytes > mostBytes ? `One import takes ${shortly(mostBytes)}, and ${shortly(bytes)} are chosen.` : "";
    field.setCustomValidity(problem);
    part("fewer").hidden = !tooMany || fitting(chosen).length === 0;
    const total = chosen.length ? `${counted(chosen.length)}, ${shortly(bytes)}.` : "";
    part("total").textContent = [total, problem].filter(Boolean).join(" ");
    part("total").classList.toggle("wrong", problem !== "");
  };
  const line = (file, place) => {
    const item = document.createElement("li");
    const name = document.createElement("span");
    name.textContent = pathOf(file);
    const size = document.createElement("span");
    size.className = "muted";
    size.textContent = shortly(file.size);
    const remove = document.createElement("button");
    remove.type = "button";
    remove.className = "slight";
    remove.textContent = "Remove";
    remove.setAttribute("aria-label", `Remove ${name.textContent}`);
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
    dropped(event.dataTransfer).then(({ files, hasFolder }) => choose(hasFolder ? ofKnownKinds(files) : files));
  });
  field.addEventListener("change", () => choose(field.files));
  // Of a folder, files of other kinds are left out, as the command does it.
  const endings = field.accept.split(",").filter((ending) => ending.startsWith("."));
  const ofKnownKinds = (files) => files.filter((file) => endings.some((ending) => file.name.toLowerCase().endsWith(ending)));
  part("folder-choice").addEventListener("click", () => folder.click());
  folder.addEventListener("change", () => {
    const found = ofKnownKinds([...folder.files]);
    folder.value = "";
    choose(found);
  });
  part("fewer").addEventListener("click", () => {
    chosen = fitting(chosen);
    show();
    field.focus();
  });

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
    // What was refused for one file is corrected and sent again, and what a dry run estimated is imported, without
    // choosing files again.
    const isKept = isDryRun || request.status === 422;
    for (const other of document.querySelectorAll("form[data-uploads]")) uploads(other, isKept ? chosen : []);
    document.querySelector("main [role=alert], main [aria-invalid], main [data-estimate], main h1")?.scrollIntoView({ block: "center" });
  };
  const failed = (words) => {
    sending(false);
    part("total").textContent = words;
    part("total").classList.add("wrong");
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!form.reportValidity()) return;
    sending(true);
    isDryRun = event.submitter?.name === "check";
    const filled = new FormData(form);
    if (isDryRun) filled.set("check", "true");
    filled.delete("files");
    const nameOf = named();
    for (const file of chosen) filled.append("files", file, nameOf(file));
    request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "text/html");
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      part("sent").max = total;
      part("sent").value = loaded;
      part("sent-words").textContent = loaded < total ? `${shortly(loaded)} of ${shortly(total)} sent`
        : `${shortly(total)} sent. The files are read${isDryRun ? "" : " and stored"}.`;
    });
    request.addEventListener("load", answered);
    request.addEventListener("error", () => failed("The connection was lost. Import the files again: those that are stored already are left as they are."));
    request.addEventListener("abort", () => failed("The upload was stopped."));
    request.send(filled);
  });
  part("stop").addEventListener("click", () => request?.abort());
  part("drop-words").hidden = false;
  part("folder-choice").hidden = false;
  show();
}

for (const form of document.querySelectorAll("form[data-uploads]")) uploads(form);
