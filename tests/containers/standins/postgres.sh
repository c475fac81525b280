#!/bin/sh
# What docker-compose.yml uses of the entry point of pgvector/pgvector: a first start creates the user and the database.
set -eu
export PATH="/usr/lib/postgresql/17/bin:$PATH" PGDATA=/var/lib/postgresql/data
install --directory --owner=postgres --group=postgres /run/postgresql
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    install --directory --owner=postgres --group=postgres --mode=700 "$PGDATA"
    printf '%s' "$POSTGRES_PASSWORD" > /run/postgresql/password
    chown postgres /run/postgresql/password
    gosu postgres initdb --username="$POSTGRES_USER" --pwfile=/run/postgresql/password --auth=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8
    rm /run/postgresql/password
    echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
    echo "local all all trust" > /run/postgresql/hba
    gosu postgres pg_ctl --wait start -o "-c listen_addresses='' -c hba_file=/run/postgresql/hba"
    gosu postgres createdb --username="$POSTGRES_USER" --host=/run/postgresql "$POSTGRES_DB"
    gosu postgres pg_ctl --wait --mode=fast stop
fi
exec gosu postgres "$@" -c "listen_addresses=*"
