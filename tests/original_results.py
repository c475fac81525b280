"""Results files in the form that ai-psychiatrist writes, with made-up numbers."""

import json
from collections.abc import Mapping
from typing import Any

from schemas.values.phq8 import PHQ8Item

SIGNALS: Mapping[str, Any] = {
    "llm_evidence_count": 2,
    "evidence_source": "llm",
    "retrieval_reference_count": 2,
    "retrieval_similarity_mean": 0.75,
    "retrieval_similarity_max": 0.8,
    "verbalized_confidence": 4,
    "token_msp": 0.9,
    "token_pe": 0.25,
    "token_energy": -0.01,
    "consistency_modal_score": 1,
    "consistency_modal_count": 4,
    "consistency_modal_confidence": 0.8,
    "consistency_score_std": 0.4,
    "consistency_na_rate": 0.0,
    "consistency_samples": [1, 1, 1, 1, 2],
}


def items(digits: str) -> dict[str, int | None]:
    """Eight digits as items; `-` is N/A."""
    return {item.value: None if digit == "-" else int(digit) for item, digit in zip(PHQ8Item, digits, strict=True)}


def subject(participant_id: int, predicted: str, truth: str, **changes: Any) -> dict[str, Any]:
    """A participant that was scored."""
    scored = [int(digit) for digit in predicted if digit != "-"]
    return {
        "participant_id": participant_id,
        "success": True,
        "error": None,
        "ground_truth_total": sum(map(int, truth)),
        "predicted_total": sum(scored),
        "predicted_total_min": sum(scored),
        "predicted_total_max": sum(scored) + 3 * (8 - len(scored)),
        "severity": None,
        "severity_lower_bound": "MINIMAL",
        "severity_upper_bound": "MILD",
        "available_items": len(scored),
        "na_items": 8 - len(scored),
        "mae_available": None,
        "ground_truth_items": items(truth),
        "predicted_items": items(predicted),
        "item_signals": {item.value: dict(SIGNALS) for item in PHQ8Item},
        **changes,
    }


def failed(participant_id: int, error: str) -> dict[str, Any]:
    """A participant that failed."""
    return {
        "participant_id": participant_id,
        "success": False,
        "error": error,
        "ground_truth_items": {},
        "predicted_items": {},
        "item_signals": {},
    }


def experiment(mode: str, *results: dict[str, Any], **stated: Any) -> dict[str, Any]:
    """A mode, with metrics that the file states."""
    return {
        "provenance": {
            "mode": mode,
            "split": "paper-test",
            "quantitative_model": "gemma3:27b-it-qat",
            "embedding_model": "qwen3-embedding:8b",
            "llm_backend": "ollama",
            "embedding_backend": "huggingface",
            "embeddings_path": None if mode == "zero_shot" else "data/embeddings/huggingface_qwen3_8b_paper_train.npz",
            "embeddings_checksum": None if mode == "zero_shot" else "0123456789abcdef",
            "embeddings_meta_checksum": None,
            "participants_requested": len(results),
            "participants_evaluated": len(results),
            "consistency_enabled": True,
            "consistency_n_samples": 5,
            "consistency_temperature": 0.2,
        },
        "results": {
            "mode": mode,
            "model": "gemma3:27b-it-qat",
            "total_subjects": len(results),
            "total_duration_seconds": 5681.25,
            "per_item": {},
            "results": list(results),
            **stated,
        },
    }


def results_file(*experiments: dict[str, Any], **metadata: Any) -> bytes:
    """A whole file."""
    run_metadata = {
        "run_id": "1a2b3c4d",
        "timestamp": "2026-01-07T12:00:00",
        "git_commit": "abc1234",
        "git_dirty": False,
        "python_version": "3.11.9",
        "platform": "linux-x86_64",
        "ollama_base_url": "http://user:secret@gpu:11434",
    }
    return json.dumps({"run_metadata": run_metadata | metadata, "experiments": list(experiments)}).encode()
