// The form of an import: files are dropped on it, listed, compared, and sent with their progress. Without this script
// the same form works by its own field.
"use strict";

const shortly = (bytes) => bytes >= 1048576 ? `${(bytes / 1048576).toFixed(1)} MB` : `${Math.max(1, Math.round(bytes / 1024))} KB`;
const counted = (n) => `${n} ${n === 1 ? "file" : "files"}`;

const OUTCOMES = {
  new: "new", replaced: "replaces its work", unchanged: "unchanged, not sent", refused: "refused, not sent",
};

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
  const without = document.querySelector("[data-without-file]");
  const showWithout = withoutFile(without, () => compare());
  let chosen = [...field.files, ...kept];
  // By file; empty while no plan is known, and then every file is sent.
  let planned = new Map();
  let planning = Promise.resolve();
  let asks = 0;
  let comparedWith;
  let note = "";
  let request;
  let isDryRun = false;

  const isSent = (file) => !["unchanged", "refused"].includes(planned.get(file)?.outcome);
  const sum = (files) => files.reduce((bytes, file) => bytes + file.size, 0);

  // A file that is chosen twice is sent once.
  const choose = (files) => {
    const paths = new Set([...files].map(pathOf));
    chosen = [...chosen.filter((file) => !paths.has(pathOf(file))), ...files];
    compare();
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
  const given = () => {
    const texts = ["title", "authors", "tags", "year"].map((name) => [name, form.elements[name].value.trim()]);
    return Object.fromEntries(texts.filter(([, text]) => text).map(([name, text]) => [name, name === "year" ? Number(text) : text]));
  };
  const fields = () => JSON.stringify([form.elements.corpus.value.trim(), given()]);
  // Only what was asked last counts: files may be chosen while others are read. The last plan is shown until then.
  const compare = () => {
    const ask = ++asks;
    comparedWith = fields();
    const files = chosen;
    const corpus = form.elements.corpus.value.trim();
    note = "";
    const known = (plan, words = "") => {
      if (ask !== asks) return;
      planned = new Map(plan ? files.map((file, place) => [file, plan.files[place]]) : []);
      note = words;
      showWithout(plan);
      show();
    };
    if (files.length === 0 || corpus === "") {
      planning = Promise.resolve();
      known();
    } else if (!globalThis.crypto?.subtle) {
      known(undefined, "Files are compared with the works only over HTTPS or on this machine, so all of them are sent.");
    } else {
      note = "The files are being compared with the works.";
      planning = planOf(corpus, files, given(), mostBytes, named()).then(known, (error) =>
        known(undefined, `The files could not be compared, so all of them are sent: ${error.message}`));
    }
    show();
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
    const sent = chosen.filter(isSent);
    const bytes = sum(sent);
    const tooMany = sent.length > mostFiles || bytes > mostBytes;
    const problem = sent.length > mostFiles ? `One import takes ${mostFiles} files, and ${sent.length} would be sent.`
      : bytes > mostBytes ? `One import takes ${shortly(mostBytes)}, and ${shortly(bytes)} would be sent.`
      : chosen.length && sent.length === 0 ? "No file is to be sent: all of them are unchanged or refused." : "";
    field.setCustomValidity(problem);
    part("fewer").hidden = !tooMany || fitting(sent).length === 0;
    const counts = Object.keys(OUTCOMES).map((outcome) => [outcome, chosen.filter((file) => planned.get(file)?.outcome === outcome).length]);
    const words = counts.filter(([, n]) => n).map(([outcome, n]) => `${n} ${outcome}`).join(", ");
    const totals = words ? `${counted(chosen.length)}: ${words}. ${counted(sent.length)} to send, ${shortly(bytes)}.`
      : chosen.length ? `${counted(chosen.length)}, ${shortly(bytes)}.` : "";
    part("total").textContent = [totals, note, problem].filter(Boolean).join(" ");
    part("total").classList.toggle("wrong", problem !== "");
    const others = without.querySelectorAll("[data-works] li").length;
    part("see-without").hidden = others === 0;
    part("see-without").firstChild.textContent = others === 0 ? "" : `${others} ${others === 1 ? "work" : "works"} of the corpus without a file here`;
  };
  const line = (file, place) => {
    const item = document.createElement("li");
    const name = document.createElement("span");
    name.textContent = pathOf(file);
    const { outcome, reason } = planned.get(file) ?? {};
    const becomes = document.createElement("span");
    becomes.className = outcome === "refused" ? "wrong" : "muted";
    becomes.textContent = [OUTCOMES[outcome] ?? "not compared", reason].filter(Boolean).join(": ");
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
      compare();
      (part("chosen").querySelectorAll("button")[Math.min(place, chosen.length - 1)] ?? field).focus();
    });
    item.append(name, size, remove, becomes);
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
    const fit = new Set(fitting(chosen.filter(isSent)));
    chosen = chosen.filter((file) => fit.has(file) || !isSent(file));
    compare();
    field.focus();
  });
  for (const name of ["corpus", "title", "authors", "year", "tags"]) {
    // The list stays as it is where nothing changed: a button that moved while it is pressed would not be clicked.
    form.elements[name].addEventListener("change", () => { if (fields() !== comparedWith) compare(); });
  }

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
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    sending(true);
    await planning;
    if (!form.reportValidity()) {
      sending(false);
      return;
    }
    isDryRun = event.submitter?.name === "check";
    const filled = new FormData(form);
    if (isDryRun) filled.set("check", "true");
    filled.delete("files");
    const nameOf = named();
    for (const file of chosen.filter(isSent)) filled.append("files", file, nameOf(file));
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
  compare();
}

for (const form of document.querySelectorAll("form[data-uploads]")) uploads(form);
