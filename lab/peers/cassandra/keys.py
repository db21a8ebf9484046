"""Prints the keys of a table's rows in hexadecimal digits, as cassandra-driver reads them at QUORUM.
Arguments: address, port, keyspace, table.
"""

import os
import sys

cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ["HOME"], ".cache")
sys.path.insert(0, os.path.join(cache, "tandem", "python"))

from cassandra import ConsistencyLevel  # noqa: E402
from cassandra.cluster import Cluster, ExecutionProfile, EXEC_PROFILE_DEFAULT  # noqa: E402
from cassandra.policies import RoundRobinPolicy  # noqa: E402

address, port, keyspace, table = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
profile = ExecutionProfile(
    consistency_level=ConsistencyLevel.QUORUM,
    load_balancing_policy=RoundRobinPolicy(),
    request_timeout=60,
)
cluster = Cluster(
    [address], port=port, protocol_version=5, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
)
session = cluster.connect(keyspace)
for row in session.execute("SELECT id FROM %s" % table):
    print(row.id.hex())
cluster.shutdown()
