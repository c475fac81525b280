-- Reference indexes, a participant and a few-shot run as ragq stored them at revision 0011: the index of avec-train under
-- the name of paper-train, which it replaced.

INSERT INTO run (id, kind, identity, profile, settings, settings_hash, request, version) VALUES
	(1, 'index', 'i1', 'demo', '{}', 's1', '{"split": "paper-train", "index": "tiny_paper_train"}', '1.3.0'),
	(2, 'index', 'i2', 'demo', '{}', 's2', '{"split": "avec-train", "index": "tiny_paper_train"}', '1.3.0'),
	(3, 'index', 'i3', 'demo', '{}', 's3', '{"split": "paper-train", "index": "short_windows"}', '1.3.0'),
	(4, 'participant', 'i4', 'demo', '{"EMBEDDING_EMBEDDINGS_FILE": {"value": "tiny_paper_train", "source": "profile"}}', 's4', '{"split": "paper-test", "modes": ["few_shot"]}', '1.3.0');

INSERT INTO participant (id, transcript, transcript_hash, utterances) VALUES (316, 'Ellie: hi', 'h316', '[]');

INSERT INTO split (name, csv_hash, ids_hash) VALUES ('paper-test', 'c', 'i');

INSERT INTO reference_index (id, name, run_id, split, split_csv_hash, split_ids_hash, backend, model, dimension, chunk_size, chunk_step, min_evidence_chars, published_at, replaced_at) VALUES
	(1, 'tiny_paper_train', 1, 'paper-train', 'c1', 'p', 'huggingface', 'tiny', 2, 8, 2, 8, '2026-11-20', '2026-11-21'),
	(2, 'tiny_paper_train', 2, 'train', 'c2', 't', 'huggingface', 'tiny', 2, 8, 2, 8, '2026-11-21', NULL),
	(3, 'short_windows', 3, 'paper-train', 'c1', 'p', 'huggingface', 'tiny', 2, 4, 2, 8, '2026-11-20', NULL),
	(4, 'mine', NULL, 'train', 'c2', 't', 'huggingface', 'tiny', 2, 8, 2, 8, '2026-11-20', NULL),
	(5, 'tiny_avec_train', NULL, 'train', NULL, 't', 'huggingface', 'tiny', 2, 8, 2, 8, '2026-11-20', NULL),
	(6, 'other-paper-train_v2', NULL, 'train', NULL, 't', 'huggingface', 'tiny', 2, 8, 2, 8, '2026-11-20', NULL),
	(7, 'tiny_paper_train', 2, 'train', 'c2', 't', 'huggingface', 'tiny', 2, 8, 2, 8, NULL, NULL);

INSERT INTO job (id, run_id, ordinal, kind, mode, subject, inputs, status) VALUES
	(1, 4, 0, 'participant', 'few_shot', '316', '{"transcript_hash": "h316", "index_id": 1, "index_model_digest": "d"}', 'failed');

INSERT INTO stage_attempt (id, job_id, stage, number, fence, worker_id, started_at, ended_at, outcome, inputs, output, output_hash, hash, error_type, error_message, error_category, error_details) VALUES
	(1, 1, 'retrieve', 1, 1, 'box-1', '2026-11-20', '2026-11-20', 'failed', '{"index": 1}', NULL, NULL, 'a', 'builtins.ConnectionError', 'gone', 'unknown', '{}');

INSERT INTO stage_run (job_id, stage, position, status, fence, attempts, interruptions, retries, enq_n) VALUES
	(1, 'retrieve', 0, 'failed', 1, 1, 0, 0, 0);
