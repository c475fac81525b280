// What an import would do, asked before files are sent: they are compared by their names and hashes.
"use strict";

const hashes = new WeakMap();
const MARKDOWN = /\.(md|markdown)$/i;

// Of markdown, a byte order mark is not part of the text.
async function hashOf(file) {
  if (!hashes.has(file)) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    const isMarked = MARKDOWN.test(file.name) && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
    const digest = await crypto.subtle.digest("SHA-256", isMarked ? bytes.subarray(3) : bytes);
    hashes.set(file, [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
  }
  return hashes.get(file);
}

async function asked(address, body) {
  const reply = await fetch(address, {
    method: "POST",
    headers: { Accept: "application/json", "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const said = await reply.json();
  if (!reply.ok) throw new Error(said.detail);
  return said;
}

// The plan of an import, its files in the order of these. One that is too large to be sent is not read.
async function planOf(corpus, files, given, mostBytes, nameOf) {
  const listed = [];
  for (const file of files) {
    const sha256 = file.size > mostBytes ? "0".repeat(64) : await hashOf(file);
    listed.push({ file_name: nameOf(file), size: file.size, sha256, ...given });
  }
  return asked("/corpora/files/plan", { corpus, files: listed });
}

// The works of the corpus without a file among those that are chosen: the checked ones are removed after a confirmation.
function withoutFile(section, removed) {
  const part = (name) => section.querySelector(`[data-${name}]`);
  const button = part("remove");
  const checked = () => [...part("works").querySelectorAll("input:checked")];
  let corpusId;

  const count = () => {
    const n = checked().length;
    button.disabled = n === 0;
    button.textContent = n === 0 ? "Remove" : `Remove ${n} ${n === 1 ? "work" : "works"}`;
  };
  const item = (work) => {
    const box = document.createElement("input");
    box.type = "checkbox";
    box.value = work.id;
    const file = document.createElement("code");
    file.textContent = work.source_path;
    const words = document.createElement("span");
    words.append(work.title, " ", file);
    const label = document.createElement("label");
    label.className = "choice";
    label.append(box, words);
    const line = document.createElement("li");
    line.append(label);
    return line;
  };
  part("works").addEventListener("change", count);
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const said = await asked(`/corpora/${corpusId}/works/remove`, { work_ids: checked().map((box) => Number(box.value)) });
      const n = said.removed.length;
      part("told").textContent = `${n} ${n === 1 ? "work was" : "works were"} removed.`;
      part("confirm").open = false;
    } catch (error) {
      part("told").textContent = error.message;
    }
    part("told").focus();
    removed();
  });
  return (plan) => {
    corpusId = plan?.corpus_id;
    const works = plan?.without_file ?? [];
    part("works").replaceChildren(...works.map(item));
    part("choice").hidden = works.length === 0;
    section.hidden = works.length === 0 && part("told").textContent === "";
    count();
  };
}
