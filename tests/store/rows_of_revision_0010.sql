-- Two runs as ragq stored them at revision 0010, dumped: outputs with vectors, a failure with its retry, an output
-- that a person gave, and two that were carried over to another run.

INSERT INTO run (id, kind, identity, profile, settings, settings_hash, request, version, created_at) VALUES
	(1, 'participant', 'd38da6057ad6e8382556dbe87d8e0879a40282932eae482463da5c292c11b512', 'demo', '{}', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '{"split": "paper-test"}', '1.3.0', '2026-11-22 12:38:15.872699+00'),
	(2, 'participant', '57f7b9c87aea324a78709aa7b997c98756e3e48da07758d603992cc6eb2331d6', 'demo', '{}', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb', '{"split": "paper-test"}', '1.3.0', '2026-11-22 12:38:16.07781+00');

INSERT INTO job (id, run_id, ordinal, kind, mode, subject, inputs, status, created_at, finished_at, note) VALUES
	(1, 1, 0, 'participant', 'few_shot', '316', '{"n": 1}', 'succeeded', '2026-11-22 12:38:15.872699+00', '2026-11-22 12:38:16.024998+00', NULL),
	(2, 1, 1, 'participant', 'few_shot', '317', '{"n": 1}', 'waiting', '2026-11-22 12:38:15.872699+00', NULL, NULL),
	(3, 2, 0, 'participant', 'few_shot', '316', '{"n": 1}', 'waiting', '2026-11-22 12:38:16.07781+00', NULL, NULL);

INSERT INTO stage_attempt (id, job_id, stage, number, fence, worker_id, started_at, ended_at, outcome, inputs, output, output_hash, previous_hash, hash, error_type, error_message, error_category, error_details) VALUES
	(1, 1, 'extract', 1, 1, 'box-1', '2026-11-22 12:38:15.968982+00', '2026-11-22 12:38:15.996717+00', 'succeeded', '{"from": "extract"}', '{"quotes": {"Sleep": ["I wake at four."]}}', 'b0a502e05cea237644e9cc93d640ba1a730e381725b7b9c919a7dfdc14483d40', NULL, 'd208a802a16bb38160b2a70f79a6869a7a967150bce060cecedca67721f18503', NULL, NULL, NULL, NULL),
	(2, 1, 'embed', 1, 1, 'box-1', '2026-11-22 12:38:16.008967+00', '2026-11-22 12:38:16.01127+00', 'succeeded', '{"from": "embed"}', '{"model_digest": "d1"}', 'a5a89e02eb2457317880a5fc4d8e714c948587443f8546f3e282047abbc49c19', 'd208a802a16bb38160b2a70f79a6869a7a967150bce060cecedca67721f18503', '1ddee776dab2829a8cf9724a16f5653967b99224ac35c9b641ed94535a728ecb', NULL, NULL, NULL, NULL),
	(3, 1, 'validate', 1, 1, 'box-1', '2026-11-22 12:38:16.016815+00', '2026-11-22 12:38:16.024998+00', 'succeeded', '{"from": "validate"}', '{"items": {"Sleep": [{"chunk_id": 1}]}, "verdicts": {}}', '342b8a97fe9cce60fa4641158d0c205f78d7a60be553a7cb54a0d414a81faa82', '1ddee776dab2829a8cf9724a16f5653967b99224ac35c9b641ed94535a728ecb', '7d38ee3e3c1727dbbc2dede5b6718357e40da8743331a3b8eaba72a023f6f490', NULL, NULL, NULL, NULL),
	(4, 2, 'extract', 1, 1, 'box-1', '2026-11-22 12:38:16.035507+00', '2026-11-22 12:38:16.044985+00', 'failed', '{"from": "extract"}', NULL, NULL, NULL, 'b9723517ed26154911529a201448bc3efd56ef56f39a33da679cb9e68c313b55', 'schemas.errors.LLMResponseParseError', 'No JSON.', 'llm_parse', '{"raw": "useless"}'),
	(5, 2, 'extract', 2, 2, 'box-1', '2026-11-22 12:38:16.050637+00', '2026-11-22 12:38:16.060176+00', 'succeeded', '{"from": "extract"}', '{"quotes": {}}', '6e61b71ef64f5ad422678887fb777cf9b4d78aec654369beb86bd7395ff1d43c', 'b9723517ed26154911529a201448bc3efd56ef56f39a33da679cb9e68c313b55', '5dedd1f661a1cce6e43e48753b8b264433ce3a489157ca3309dfeb9d9638d74b', NULL, NULL, NULL, NULL),
	(6, 2, 'extract', 3, 3, 'by hand', '2026-11-22 12:38:16.065259+00', '2026-11-22 12:38:16.065259+00', 'succeeded', '{"by": "by hand"}', '{"quotes": {"Sleep": ["I said so."]}}', '05d5a1a7ba4dc45ee487638a29aa5330499819cd6f32940409d3a70dfe99ad1c', '5dedd1f661a1cce6e43e48753b8b264433ce3a489157ca3309dfeb9d9638d74b', '3c18e77ef1ca06776c0132a472d57c1ed3e78c0949839120697e1a69d48b2c93', NULL, NULL, NULL, NULL),
	(7, 3, 'extract', 1, 1, 'by hand', '2026-11-22 12:38:16.098911+00', '2026-11-22 12:38:16.098911+00', 'succeeded', '{"by": "by hand", "from": {"job": 1, "attempt": 1}}', '{"quotes": {"Sleep": ["I wake at four."]}}', 'b0a502e05cea237644e9cc93d640ba1a730e381725b7b9c919a7dfdc14483d40', NULL, '8a189fadd935d3be391aa669027369307b691b8f26ecfe4a434a3320b0e58ea8', NULL, NULL, NULL, NULL),
	(8, 3, 'embed', 1, 2, 'by hand', '2026-11-22 12:38:16.126766+00', '2026-11-22 12:38:16.126766+00', 'succeeded', '{"by": "by hand", "from": {"job": 1, "attempt": 1}}', '{"model_digest": "d1"}', 'a5a89e02eb2457317880a5fc4d8e714c948587443f8546f3e282047abbc49c19', '8a189fadd935d3be391aa669027369307b691b8f26ecfe4a434a3320b0e58ea8', '33e4f52e6875c68f9c662637e61dda5bbd9c68c7a569fe8949746fc2d25c4211', NULL, NULL, NULL, NULL);

INSERT INTO stage_run (job_id, stage, position, status, fence, attempts, interruptions, retries, worker_id, lease_until, enq_at, enq_n, not_before, started_at, finished_at) VALUES
	(1, 'extract', 0, 'done', 1, 1, 0, 0, 'box-1', NULL, '2026-11-22 12:38:15.872699+00', 0, NULL, '2026-11-22 12:38:15.968982+00', '2026-11-22 12:38:15.996717+00'),
	(1, 'embed', 1, 'done', 1, 1, 0, 0, 'box-1', NULL, '2026-11-22 12:38:15.996717+00', 0, NULL, '2026-11-22 12:38:16.008967+00', '2026-11-22 12:38:16.01127+00'),
	(1, 'validate', 2, 'done', 1, 1, 0, 0, 'box-1', NULL, '2026-11-22 12:38:16.01127+00', 0, NULL, '2026-11-22 12:38:16.016815+00', '2026-11-22 12:38:16.024998+00'),
	(2, 'extract', 0, 'done', 3, 3, 0, 0, 'box-1', NULL, '2026-11-22 12:38:16.047642+00', 0, NULL, '2026-11-22 12:38:16.065259+00', '2026-11-22 12:38:16.065259+00'),
	(2, 'embed', 1, 'ready', 1, 0, 0, 0, NULL, NULL, '2026-11-22 12:38:16.065259+00', 0, NULL, NULL, NULL),
	(2, 'validate', 2, 'waiting', 1, 0, 0, 0, NULL, NULL, NULL, 0, NULL, NULL, NULL),
	(3, 'extract', 0, 'done', 1, 1, 0, 0, NULL, NULL, '2026-11-22 12:38:16.07781+00', 0, NULL, '2026-11-22 12:38:16.098911+00', '2026-11-22 12:38:16.098911+00'),
	(3, 'embed', 1, 'done', 2, 1, 0, 0, NULL, NULL, '2026-11-22 12:38:16.098911+00', 0, NULL, '2026-11-22 12:38:16.126766+00', '2026-11-22 12:38:16.126766+00'),
	(3, 'validate', 2, 'ready', 2, 0, 0, 0, NULL, NULL, '2026-11-22 12:38:16.126766+00', 0, NULL, NULL, NULL);

INSERT INTO stage_vector (attempt_id, ordinal, vector) VALUES
	(2, 0, '[0.5,0.25]'),
	(2, 1, '[1,-0.5]'),
	(8, 0, '[0.5,0.25]'),
	(8, 1, '[1,-0.5]');

INSERT INTO worker (id, host, pid, stages, version, started_at, seen_at) VALUES
	('box-1', 'box', 1, '{extract}', '1.3.0', '2026-11-22 12:38:15.871112+00', '2026-11-22 12:38:15.871112+00');

SELECT setval('job_id_seq', 3, true);
SELECT setval('run_id_seq', 2, true);
SELECT setval('stage_attempt_id_seq', 8, true);
