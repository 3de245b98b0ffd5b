// What the families of the Prometheus form mean, for their `# HELP` lines. Names are without `muster_` and without what the type adds
// (`_total`, `_seconds`).

const byName: Readonly<Record<string, string>> = {
  info: "Muster's own version.",
  store_readable: '1, or 0 while the store cannot be read.',
  store_writable: '1, or 0 while the store cannot be written; commands wait in the log then.',
  data_free_bytes: 'Bytes free on the disk of the data directory.',
  stage: 'Stages of commands and queries.',

  mq_seen: 'Executions of commands.',
  mq_processed: 'Commands that were applied.',
  mq_retried: 'Failed executions of commands that will be tried again.',
  mq_discarded: 'Commands that became dead letters.',
  mq_fatal: 'Executions of commands that failed for good.',
  mq_processing_time: 'Reading and applying a command.',
  mq_message_persistence_time: "From a command's arrival to its being on disk.",
  mq_command_parse_time: 'Reading a command.',
  mq_queue_time: "From a command's arrival to the start of its processing, in seconds.",
  mq_retry_counts: 'Earlier attempts of executed commands.',
  mq_size: 'Bytes of commands that came.',
  mq_awaiting_retry: 'Failed commands that will be tried again.',
  mq_ignored: 'Commands that were obsolete before their turn came.',
  mq_invalidated: 'Obsolete commands that still wait for their turn.',
  mq_depth: 'Commands taken and not applied.',
  mq_concurrent_depth: 'Commands that are being written to the log.',

  storage_add_resources: 'Resources of a catalog whose contents changed.',
  storage_add_edges: 'Edges of a catalog whose contents changed.',
  storage_resource_hashes: 'Hashes of the resources of a catalog.',
  storage_catalog_hash: 'Hash of a catalog.',
  storage_catalog_hash_match_time: 'Applying a catalog that had not changed.',
  storage_catalog_hash_miss_time: 'Applying a catalog that had changed.',
  storage_new_catalog_time: 'Applying the first catalog of a node.',
  storage_replace_catalog_time: 'Applying a catalog.',
  storage_new_fact_time: 'Applying the first facts of a node.',
  storage_replace_facts_time: 'Applying facts.',
  storage_store_report_time: 'Applying a report.',
  storage_gc_time: 'A run of maintenance.',
  storage_gc_catalogs_time: 'Maintenance: catalogs.',
  storage_gc_params_time: 'Maintenance: parameters.',
  storage_gc_environments_time: 'Maintenance: environments.',
  storage_gc_packages_time: 'Maintenance: packages.',
  storage_gc_report_statuses: 'Maintenance: statuses of reports.',
  storage_gc_fact_paths: 'Maintenance: paths of facts.',
  storage_new_catalogs: 'Catalogs that had changed, or were the first of their node.',
  storage_duplicate_catalogs: 'Catalogs that equalled the one before.',
  storage_catalog_volitilty: 'Resources that changed in a catalog.',
  storage_duplicate_pct: 'Share of catalogs that equalled the one before, of 1.',

  dlo_filesize: 'Bytes of dead letters, by command; `global`: of all.',
  dlo_messages: 'Dead letters, by command; `global`: all.',

  admin_node_expirations: 'Runs of maintenance: nodes that expire.',
  admin_node_purges: 'Runs of maintenance: nodes that are deleted.',
  admin_report_purges: 'Runs of maintenance: reports that are deleted.',
  admin_resource_event_purges: 'Runs of maintenance: events that are deleted.',
  admin_package_gcs: 'Runs of maintenance: packages.',
  admin_catalog_gcs: 'Runs of maintenance: catalogs.',
  admin_fact_path_gcs: 'Runs of maintenance: paths of facts.',
  admin_other_cleans: 'Runs of maintenance: the rest.',
  admin_node_expiration_time: 'Maintenance: nodes that expire.',
  admin_node_purge_time: 'Maintenance: nodes that are deleted.',
  admin_report_purge_time: 'Maintenance: reports that are deleted.',
  admin_resource_events_purge_time: 'Maintenance: events that are deleted.',
  admin_package_gc_time: 'Maintenance: packages.',
  admin_catalog_gc_time: 'Maintenance: catalogs.',
  admin_fact_path_gc_time: 'Maintenance: paths of facts.',
  admin_other_clean_time: 'Maintenance: the rest.',

  database_wait: 'Waiting for a place: of queries (PDBReadPool), of commands (PDBWritePool).',
  database_usage: 'Time in a place, in milliseconds.',
  database_connection_creation: 'Making a connection: none is made here.',
  database_connection_timeout_rate: 'Waits for a place that were given up.',
  database_max_connections: 'Threads that answer queries, or apply commands.',
  database_min_connections: 'Threads that answer queries, or apply commands.',
  database_total_connections: 'Threads that answer queries, or apply commands.',
  database_active_connections: 'Threads that are at work.',
  database_idle_connections: 'Threads that are not at work.',
  database_pending_connections: 'Queries, or partitions, that wait for a thread.',

  http_service_time: 'Answering requests, by path; those below a path count for it, too.',
  http_responses: 'Answers by path and status; those below a path count for it, too.',
  http_unanswered: 'Requests that ended without an answer, by path; those below a path count for it, too.',

  population_num_nodes: 'Nodes that are stored.',
  population_num_active_nodes: 'Active nodes.',
  population_num_inactive_nodes: 'Deactivated and expired nodes.',
  population_num_resources: 'Resources of all catalogs.',
  population_avg_resources_per_node: 'Resources of a node, on average.',
  population_pct_resource_dupes: 'Share of resources that are stored once for several, of 1.',
};

/** `name`: of a family, whole. undefined: nothing is known of it. */
export function helpText(name: string): string | undefined {
  const base = name.replace(/^muster_/, '').replace(/_(?:total|seconds)$/, '');
  if (Object.hasOwn(byName, base)) return byName[base];
  const ofAll = base.replace(/^mq_command_/, 'mq_');
  return Object.hasOwn(byName, ofAll) ? `By command and version: ${byName[ofAll]}` : undefined;
}
