#!/bin/sh
# Run once by the database's image, on an empty volume: one account per process, in the role to which `tickyard migrate`
# grants its rights. On a database that is there already, run the same statements by hand, then `tickyard migrate`.
set -eu
account() {
    psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 --set password="$2" <<SQL
CREATE ROLE tickyard_$1 NOLOGIN;
CREATE ROLE $1 LOGIN PASSWORD :'password' IN ROLE tickyard_$1;
SQL
}
account api "$API_PASSWORD"
account worker "$WORKER_PASSWORD"
account payout "$PAYOUT_PASSWORD"
