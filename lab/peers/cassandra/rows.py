"""Prints the rows of a keyspace as cassandra-driver reads them: those of an owner, and shared ones
whose keys begin with that name. Arguments: port, keyspace, owner.
"""

import os
import sys

cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ["HOME"], ".cache")
sys.path.insert(0, os.path.join(cache, "tandem", "python"))

from cassandra import ConsistencyLevel  # noqa: E402
from cassandra.auth import PlainTextAuthProvider  # noqa: E402
from cassandra.cluster import Cluster, ExecutionProfile, EXEC_PROFILE_DEFAULT  # noqa: E402
from cassandra.policies import RoundRobinPolicy  # noqa: E402

port, keyspace, owner = int(sys.argv[1]), sys.argv[2], sys.argv[3]
profile = ExecutionProfile(
    consistency_level=ConsistencyLevel.LOCAL_QUORUM,
    load_balancing_policy=RoundRobinPolicy(),
    request_timeout=60,
)
cluster = Cluster(
    ["127.0.0.1"],
    port=port,
    protocol_version=5,
    auth_provider=PlainTextAuthProvider("cassandra", "cassandra"),
    execution_profiles={EXEC_PROFILE_DEFAULT: profile},
)
session = cluster.connect(keyspace)
for row in session.execute("SELECT owner, id, octets FROM own_rows"):
    if row.owner == owner:
        print("own_rows", row.id.decode(), row.octets.decode())
for row in session.execute("SELECT id, octets FROM shared_rows"):
    if row.id.startswith(owner.encode()):
        print("shared_rows", row.id.decode(), row.octets.decode())
cluster.shutdown()
