// A stand-in for the original's web client: the same requests in the same order, without credentials or a Prefer header,
// and the same fields of the replies. A reply that is not JSON with status 200, 201 or 204 fails, and so does a field
// that is missing.

let api = "";

async function ask(method, path, body) {
  const options = { method };
  if (body !== undefined) {
    options.headers = { "Content-Type": "application/json" };
    options.body = JSON.stringify(body);
  }
  const reply = await fetch(`${api}${path}`, options);
  if (![200, 201, 204].includes(reply.status)) {
    throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify((await reply.json()).detail)}`);
  }
  return reply.status === 204 ? null : reply.json();
}

const get = (path) => ask("GET", path);
const post = (path, body) => ask("POST", path, body);
const put = (path, body) => ask("PUT", path, body);
const patch = (path, body) => ask("PATCH", path, body);

function has(reply, names) {
  for (const name of names.split(" ")) {
    if (reply[name] === undefined) {
      throw new Error(`no field ${name} in ${JSON.stringify(reply).slice(0, 300)}`);
    }
  }
  return reply;
}

function expect(found, wanted) {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) {
    throw new Error(`${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
  }
}

async function settings() {
  has(await get("/health"), "status version");
  const config = has(await get("/settings/"), "database llm paths");
  has(config.database, "admin_user host port db_name app_user");
  has(has(config.llm, "provider models").models, "openai gemini");
  has(config.llm.models.openai, "light full");
  has(config.llm.models.gemini, "light full");
  has(config.paths, "input_dir output_dir");
  const health = has(await get("/init/db-health"), "results all_passed connection_ok");
  health.results.forEach((check) => has(check, "name passed message details"));
  expect([health.all_passed, health.connection_ok], [true, true]);
  has(await post("/init/database", { reset: false }), "success message tables_created");
  await saveSettings(config);
}

// Each tab of the settings page saves its whole form, and shows what the reply has.
async function saveSettings({ database, llm, paths }) {
  expect(await put("/settings/database", database), database);
  expect(await put("/settings/paths", paths), paths);
  const { openai, gemini } = llm.models;
  const save = (light) => put("/settings/llm", {
    provider: llm.provider, openai_light: light, openai_full: openai.full, gemini_light: gemini.light,
    gemini_full: gemini.full,
  });
  const saved = has(await save(`${openai.full}-light`), "provider models");
  expect(saved.models.openai, { light: `${openai.full}-light`, full: openai.full });
  expect((await get("/settings/")).llm, saved);
  expect(await save(openai.light), llm);
}

const VERSION = "id function_tag version title template_content is_active created_at updated_at";

async function templates() {
  const listed = has(await get("/settings/templates/"), "templates").templates;
  listed.forEach((template) => has(template, "function_tag active_version versions").versions.forEach((version) =>
    has(version, "version title is_active created_at")));
  const path = "/settings/templates/query_expansion";
  const before = await get(path);
  const first = has(before[0], VERSION);
  const added = has(await post(path, { title: "Mine", template_content: first.template_content }), VERSION);
  expect((await get(path)).map((version) => version.version), [added, ...before].map((version) => version.version));
  await put(`${path}/${added.version}`, { title: "Renamed", template_content: first.template_content });
  await put(`${path}/${added.version}/activate`);
  const active = (await get(path)).find((version) => version.is_active);
  expect([active.version, active.title], [added.version, "Renamed"]);
  await put(`${path}/${added.version}`, { title: "Renamed", template_content: `${active.template_content}\n` });
  const [newest] = await get(path);
  expect([newest.is_active, newest.template_content], [true, `${active.template_content}\n`]);
}

const PRESET = "id preset_name is_default description config created_at updated_at";

async function presets() {
  const [first] = await get("/api/rag-config/");
  expect(has(first, PRESET).is_default, true);
  const { retrieval, consolidation, augmentation } = first.config;
  has(
    retrieval,
    "dense_limit lexical_limit rrf_k top_k_rrf top_n_final entity_boost min_word_count min_char_count " +
      "min_content_length enrich_lines_above enrich_lines_below mmr_lambda reranker_batch_size reranker_max_length",
  );
  has(consolidation, "coverage_threshold line_gap min_content_length enrich_from_md");
  has(augmentation, "top_n_contexts");
  const short = {
    retrieval: { ...retrieval, min_word_count: 0, min_char_count: 0 },
    consolidation: { ...consolidation, min_content_length: 0, line_gap: 0, coverage_threshold: 1 },
    augmentation,
  };
  const made = await post("/api/rag-config/", {
    preset_name: "Short", description: "For short works", is_default: true, config: short,
  });
  expect(has(made, PRESET).is_default, true);
  const copy = await post("/api/rag-config/", {
    preset_name: "Short (Copy)".replace(/[()]/g, ""), description: made.description, is_default: false,
    config: made.config,
  });
  await put(`/api/rag-config/${encodeURIComponent(copy.preset_name)}`, { description: "Mine", config: copy.config });
  await put(`/api/rag-config/${encodeURIComponent(copy.preset_name)}/set-default`);
  expect((await get("/api/rag-config/default")).preset_name, copy.preset_name);
  await put("/api/rag-config/Short/set-default");
  await ask("DELETE", `/api/rag-config/${encodeURIComponent(copy.preset_name)}`);
  const listed = await get("/api/rag-config/");
  expect([listed[0].preset_name, listed.some((preset) => preset.preset_name === copy.preset_name)], ["Short", false]);
}

const QUESTION = "Why does black tea turn dark?";
const PASTED = '```json\n{"queries": ["oxidation of tea leaves"], "hyde_answer": "Oxygen darkens the leaf.", ' +
  '"intent": "MECHANISM", "entities": ["tea"]}\n```';

async function expansion() {
  has(await post("/rag/expansion/prompt", { query: QUESTION, n: 3 }), "prompt query n");
  has(await post("/rag/expansion/prompt", { original_query: QUESTION }), "prompt query");
  const run = await post("/rag/expansion/run", { query: QUESTION, n: 3 });
  has(run, "query_id original_query expanded_queries hyde_answer intent entities message");
  has(
    await post("/rag/expansion/run", { original_query: QUESTION, use_full_model: true }),
    "success query_id expanded_queries hyde_answer intent entities",
  );
  has(await post("/rag/expansion/manual", { query: QUESTION, response_text: PASTED }), "query_id message");
  has(await post("/rag/expansion/manual", { original_query: QUESTION, llm_response: PASTED }), "success query_id message");
  return run.query_id;
}

// "Run All", which starts what each question needs next until all are ready.
const NEXT = { needs_embeddings: "embed", needs_retrieval: "retrieve", needs_consolidation: "consolidate" };
const COUNTS = {
  embed: "query_id total_embeddings original_count mqe_count hyde_count success message vector_status",
  retrieve:
    "query_id total_dense_candidates total_lexical_candidates rrf_candidates final_count message success chunks_retrieved",
  consolidate: "query_id original_count consolidated_count message success",
};

async function runAll(query) {
  for (const wanted of ["embed", "retrieve", "consolidate"]) {
    const list = has(await get("/rag/queries"), "queries total");
    expect(list.queries.length, list.total);
    const line = list.queries.find((one) => one.id === query);
    has(line, "id original_query created_at updated_at status intent entities_count");
    has(line, "vector_status has_retrieved_context has_clean_context results_count");
    expect(NEXT[line.status], wanted);
    has(await post(`/rag/queries/${query}/${wanted}`), COUNTS[wanted]);
  }
  expect((await get("/rag/queries")).queries.find((one) => one.id === query).status, "ready");
}

async function detail(query) {
  const found = await get(`/rag/queries/${query}`);
  has(found, "id original_query expanded_queries hyde_answer intent entities vector_status has_retrieved_context");
  has(found, "has_clean_context clean_retrieval_context created_at updated_at retrieved_context available_context_count");
  found.clean_retrieval_context.forEach((item) => has(item, "content score"));
  return found;
}

// The page "inspect" keeps what it read, changes it, and saves it whole, twice without reading it again.
async function inspect(query) {
  const found = await detail(query);
  const items = found.clean_retrieval_context;
  const whole = {
    expanded_queries: [...found.expanded_queries, "", "  "],
    hyde_answer: found.hyde_answer || "",
    intent: (found.intent || "").toLowerCase(),
    entities: [...found.entities, ""],
  };
  const starts = (reply) => reply.clean_retrieval_context.map((item) => item.start_line);
  const save = async (kept) => {
    const saved = await patch(`/rag/queries/${query}`, { ...whole, clean_retrieval_context: kept });
    expect(starts(has(saved, "id expanded_queries intent clean_retrieval_context updated_at")), kept.map((item) => item.start_line));
  };
  const reordered = [items[1], items[0], ...items.slice(2)];
  await save(reordered);
  await save(reordered.slice(0, -1));
  const prompt = await get(`/rag/queries/${query}/augment/prompt?top_n=1`);
  if (!prompt.prompt.includes(items[1].content.trim().split("\n").pop())) {
    throw new Error("the prompt does not begin with the passage that was moved up");
  }
  await patch(`/rag/queries/${query}`, { intent: "something else" });
  const line = (await get("/rag/queries")).queries.find((one) => one.id === query);
  expect([line.status, line.intent], ["needs_retrieval", "something else"]);
  await post(`/rag/queries/${query}/retrieve`);
  await post(`/rag/queries/${query}/consolidate`);
}

async function answers(query) {
  const available = (await detail(query)).clean_retrieval_context.length;
  for (const sources of [1, Math.min(2, available)]) {
    const shown = await get(`/rag/queries/${query}/augment/prompt?top_n=${sources}`);
    expect(has(shown, "query_id original_query prompt context_count").context_count, sources);
  }
  const path = `/rag/queries/${query}/augment`;
  const run = has(await post(`${path}/run`, { force: false }), "query_id result_id response_text message");
  const light = await post(`${path}/run`, { top_n: 2, use_full_model: false });
  has(light, "success result_id response_text");
  const pasted = has(await post(`${path}/manual`, { response_text: "By oxygen [S1]." }), "query_id result_id message");
  const listed = has(await get(`/rag/queries/${query}/results`), "query_id results total");
  listed.results.forEach((result) => has(result, "id query_id response_text created_at"));
  expect(listed.results.map((result) => result.id), [pasted.result_id, light.result_id, run.result_id]);
  const read = await get(`/rag/queries/${query}/results/${run.result_id}`);
  expect(has(read, "id query_id response_text created_at updated_at").response_text, run.response_text);
  return run.response_text;
}

async function corpus() {
  const stats = has(await get("/corpus/stats"), "total_works chunk_stats");
  has(stats.chunk_stats, "no_vec to_vec vec vec_err");
  const listed = has(await get("/corpus/works"), "works total");
  expect([listed.works.length, listed.total], [stats.total_works, stats.total_works]);
  const [work] = listed.works;
  has(work, "id title authors sanitized_path");
  has(await get(`/corpus/work/${work.id}/content`), "content filename work_id work_title");
}

// A page of another origin that a token is needed for.
async function showToken(token) {
  const refused = await fetch(`${api}/rag/queries`);
  const headers = { Authorization: `Bearer ${token}` };
  const listed = await fetch(`${api}/rag/queries`, { headers });
  const changed = await fetch(`${api}/rag/expansion/prompt`, {
    method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify({ query: "Why?" }),
  });
  return [refused, listed, changed].map((reply) => reply.status);
}
