# One image for migrations, workers, the API, Flower and the command line. docker-compose.yml names those of the servers.
FROM python:3.11-slim

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONUNBUFFERED=1

WORKDIR /srv/ragq

# torch first and by its exact version, as in the Makefile: a code change does not download it again.
COPY constraints.txt ./
RUN pip install -c constraints.txt torch==2.13.0

COPY pyproject.toml README.md ./
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
RUN pip install -c constraints.txt .

RUN useradd --create-home ragq
USER ragq
WORKDIR /home/ragq

ENTRYPOINT ["ragq"]
CMD ["--help"]
