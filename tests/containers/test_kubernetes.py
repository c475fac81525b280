"""The manifests in deploy/kubernetes, against the published schemas and against what the other parts state."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
from ruamel.yaml import YAML

from api.metrics import Metrics
from schemas.settings.process import PROCESS_SETTINGS, ProcessSettings
from stack.parts import WORKER_CONCURRENCY, WORKER_QUEUES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy/kubernetes"


def documents(text: str) -> list[dict[str, Any]]:
    return list(YAML(typ="safe").load_all(text))


@pytest.fixture(scope="module")
def manifests() -> list[dict[str, Any]]:
    """Every object that the kustomization names."""
    (kustomization,) = documents((FOLDER / "kustomization.yaml").read_text())
    assert {path.name for path in FOLDER.iterdir()} == {"kustomization.yaml", *kustomization["resources"]}
    return [found for name in kustomization["resources"] for found in documents((FOLDER / name).read_text())]


def of_kind(manifests: list[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    return {found["metadata"]["name"]: found["spec"] for found in manifests if found["kind"] == kind}


def pods(manifests: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for kind in ("Deployment", "Job"):
        for name, spec in of_kind(manifests, kind).items():
            yield name, spec["template"]["spec"]


@pytest.mark.parametrize("version", ["1.28", "1.31", kubernetes_validate.latest_version().rpartition(".")[0]])
def test_every_manifest_keeps_to_the_published_schema(manifests: list[dict[str, Any]], version: str) -> None:
    for manifest in manifests:
        kubernetes_validate.validate(manifest, version, strict=True)


def test_kustomize_renders_the_same_objects(manifests: list[dict[str, Any]]) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    rendered = subprocess.run(["kubectl", "kustomize", str(FOLDER)], capture_output=True, text=True, check=True)
    objects = documents(rendered.stdout)
    assert sorted(found["kind"] for found in objects) == sorted(found["kind"] for found in manifests)
    for found in objects:
        kubernetes_validate.validate(found, "1.31", strict=True)
        assert found["kind"] == "Namespace" or found["metadata"]["namespace"] == "ragq"
    images = {pod["containers"][0]["image"] for _, pod in pods(objects)}
    assert images == {"registry.example/ragq:1"}


def test_the_workers_share_the_stages_as_on_one_machine_and_scale_by_a_metric_that_exists(
    manifests: list[dict[str, Any]],
) -> None:
    metrics = (ROOT / Path(*Metrics.__module__.split(".")).with_suffix(".py")).read_text()
    for name, queues in WORKER_QUEUES.items():
        deployment = of_kind(manifests, "Deployment")[f"worker-{name}"]
        arguments = deployment["template"]["spec"]["containers"][0]["args"]
        assert arguments == ["worker", "--stages", name, "--concurrency", str(WORKER_CONCURRENCY[name])]
        scaler = of_kind(manifests, "HorizontalPodAutoscaler")[f"worker-{name}"]
        metric = scaler["metrics"][0]["external"]["metric"]
        assert metric["selector"]["matchExpressions"][0]["values"] == list(queues)
        assert f'"{metric["name"].removeprefix("ragq_")}"' in metrics
        assert scaler["scaleTargetRef"]["name"] == f"worker-{name}"
        assert "replicas" not in deployment


def test_every_setting_exists_and_passwords_come_from_the_secret(manifests: list[dict[str, Any]]) -> None:
    (configuration,) = (found["data"] for found in manifests if found["kind"] == "ConfigMap")
    assert configuration.keys() <= PROCESS_SETTINGS.keys()
    secrets = {"DATABASE_URL": "postgresql://db/ragq", "REDIS_URL": "redis://broker"}
    ProcessSettings.from_environment(configuration | secrets)
    assert not any(found["kind"] == "Secret" for found in manifests)
    for name, pod in pods(manifests):
        sources = [next(iter(source.values()))["name"] for source in pod["containers"][0]["envFrom"]]
        assert sources == ["ragq", "ragq"]
        # A worker has time to give its stages back.
        if name.startswith("worker-"):
            assert pod["terminationGracePeriodSeconds"] >= float(configuration["RAGQ_STOP_SECONDS"]) + 20


def test_pods_keep_to_the_restricted_standard(manifests: list[dict[str, Any]]) -> None:
    user = (ROOT / "Dockerfile").read_text().partition("USER ")[2].partition(":")[0]
    for name, pod in pods(manifests):
        assert pod["securityContext"]["runAsUser"] == int(user), name
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        # The address of Service ragq-api would come as RAGQ_API_PORT.
        assert pod["enableServiceLinks"] is False
        for container in pod["containers"]:
            context = container["securityContext"]
            assert (context["readOnlyRootFilesystem"], context["allowPrivilegeEscalation"]) == (True, False)
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert "/tmp" in {mount["mountPath"] for mount in container["volumeMounts"]}


def test_every_selector_finds_a_pod(manifests: list[dict[str, Any]]) -> None:
    workloads = [*of_kind(manifests, "Deployment").values(), *of_kind(manifests, "Job").values()]
    labels = {spec["template"]["metadata"]["labels"]["app.kubernetes.io/component"] for spec in workloads}
    budgets = of_kind(manifests, "PodDisruptionBudget").values()
    selected = {budget["selector"]["matchLabels"]["app.kubernetes.io/component"] for budget in budgets}
    (service,) = of_kind(manifests, "Service").values()
    policy = of_kind(manifests, "NetworkPolicy")["api-in"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
    assert selected == {"worker-model", "worker-llm", "api"}
    assert {*selected, service["selector"]["app.kubernetes.io/component"], policy} <= labels
