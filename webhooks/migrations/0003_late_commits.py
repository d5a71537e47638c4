from django.db import migrations

# A message that is written before an endpoint begins to listen, and committed after it, would be told to nobody. So who
# writes one shares a lock of the tenant until the commit, and who begins to listen takes it alone, last before theirs:
# it waits for those who are writing, and those who write later look once it is theirs, in a snapshot of their own.
SOMEBODY_LISTENS = """
    CREATE OR REPLACE FUNCTION webhooks_somebody_listens() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
    DECLARE
        tenant CONSTANT uuid := nullif(current_setting('holdfast.tenant_id', true), '')::uuid;
    BEGIN
        PERFORM pg_advisory_xact_lock_shared(uuid_hash_extended(tenant, 1));
        RETURN EXISTS (SELECT FROM webhooks_endpoint WHERE tenant_id = tenant AND status = 'enabled');
    END
    $$
"""
# Whoever writes a message queues behind whoever waits here, and writes it while it holds what others want. So this waits
# in short turns, and lets them all through in between; after the last it fails as any wait for a lock does.
BEGIN_TO_LISTEN = """
    CREATE FUNCTION webhooks_begin_to_listen() RETURNS void LANGUAGE plpgsql SET lock_timeout = '50ms' AS $$
    DECLARE
        tenant CONSTANT uuid := nullif(current_setting('holdfast.tenant_id', true), '')::uuid;
    BEGIN
        FOR turn IN 1..20 LOOP
            BEGIN
                PERFORM pg_advisory_xact_lock(uuid_hash_extended(tenant, 1));
                RETURN;
            EXCEPTION WHEN lock_not_available THEN
                IF turn = 20 THEN
                    RAISE;
                END IF;
            END;
            PERFORM pg_sleep(0.05);
        END LOOP;
    END
    $$
"""


class Migration(migrations.Migration):
    dependencies = [
        ("webhooks", "0002_deliveries"),
    ]

    operations = [
        migrations.RunSQL(SOMEBODY_LISTENS, migrations.RunSQL.noop),
        migrations.RunSQL(BEGIN_TO_LISTEN, "DROP FUNCTION webhooks_begin_to_listen()"),
    ]
