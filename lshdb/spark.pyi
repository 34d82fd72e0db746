# What type checkers read of spark.py.
from lshdb.apps.spark.clustering import clusters as clusters
from lshdb.apps.spark.copied_passages import fingerprints as fingerprints
from lshdb.apps.spark.copied_passages import passage_pairs as passage_pairs
from lshdb.apps.spark.counts import Counts as Counts
from lshdb.apps.spark.databases import Shard as Shard
from lshdb.apps.spark.databases import read_database as read_database
from lshdb.apps.spark.databases import write_databases as write_databases
from lshdb.apps.spark.deduplicating import Deduplicated as Deduplicated
from lshdb.apps.spark.deduplicating import dedup as dedup
from lshdb.apps.spark.frame_documents import make_settings as make_settings
from lshdb.apps.spark.similar_pairs import bands as bands
from lshdb.apps.spark.similar_pairs import candidate_pairs as candidate_pairs
from lshdb.apps.spark.similar_pairs import pairs as pairs
from lshdb.apps.spark.similar_pairs import signatures as signatures
