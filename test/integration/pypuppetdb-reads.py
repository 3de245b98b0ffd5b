"""Asks a server everything that pypuppetdb can ask, and prints what came back as one JSON object.

    python3 pypuppetdb-reads.py PORT HTTPS_PORT CA CERTIFICATE KEY

Each reading has a name; it maps to {"value": ...} or, when the library raised, to {"error": traceback}. What the values
have to be is not decided here. Where the library's own method cannot work with any server (edges and server_time use
attributes that it does not have), its generic _query is asked for the same. Titles with a slash are left out of paths: the
library does not encode it, and PuppetDB has no such route either.
"""

import json
import sys
import traceback
from datetime import datetime, timezone

from pypuppetdb import connect
from pypuppetdb import QueryBuilder as q

port, https_port, ca, certificate, key = sys.argv[1:]
db = connect(host="localhost", port=int(https_port), ssl_verify=ca, ssl_cert=certificate, ssl_key=key, timeout=60)
plain = connect(host="127.0.0.1", port=int(port), timeout=60)

readings = {}


def reading(name):
    """Runs the function at once and keeps its value, or how it failed."""

    def run(function):
        try:
            readings[name] = {"value": function()}
        except Exception:
            readings[name] = {"error": traceback.format_exc()}
        return function

    return run


def first_name():
    return next(db.nodes(order_by='[{"field": "certname"}]', limit=1)).name


@reading("nodes")
def _():
    return [
        [n.name, n.deactivated, n.expired, n.facts_environment, n.latest_report_hash, n.cached_catalog_status]
        for n in db.nodes()
    ]


@reading("nodes have times")
def _():
    return all(
        isinstance(t, datetime)
        for n in db.nodes()
        for t in (n.report_timestamp, n.catalog_timestamp, n.facts_timestamp)
    )


@reading("nodes with status")
def _():
    return [[n.name, n.status, n.events] for n in db.nodes(with_status=True, unreported=24 * 365 * 100)]


@reading("nodes with status, without numbers")
def _():
    nodes = db.nodes(with_status=True, with_event_numbers=False, unreported=24 * 365 * 100)
    return [[n.name, n.status, n.events] for n in nodes]


@reading("nodes that are unreported")
def _():
    return sorted({n.status for n in db.nodes(with_status=True, unreported=0)})


@reading("one node, and what it has")
def _():
    node = db.node(first_name())
    resource = next(node.resources("package"))
    return {
        "name": node.name,
        "facts": len(list(node.facts())),
        "kernel": node.fact("kernel").value,
        "resources": len(list(node.resources())),
        "files": len(list(node.resources("file"))),
        "same": node.resource("package", resource.name).name == resource.name,
        "reports": len(list(node.reports())),
    }


@reading("a node that is not there")
def _():
    try:
        return db.node("nosuch.example.com").name
    except Exception as error:
        return [type(error).__name__, error.response.status_code]


@reading("facts")
def _():
    return len(list(db.facts()))


@reading("facts by name")
def _():
    return sorted([f.node, f.name, f.value, f.environment] for f in db.facts("kernel"))


@reading("facts by name and value")
def _():
    return [f.node for f in db.facts("kernel", "Linux")]


@reading("a page of facts with the total")
def _():
    page = db.facts("kernel", order_by='[{"field": "certname", "order": "desc"}]', limit=3, offset=2, include_total=True)
    return [[f.node for f in page], db.total]


@reading("structured facts")
def _():
    return [f.value["family"] for f in db.facts("os")]


@reading("fact names")
def _():
    return db.fact_names()


@reading("fact paths")
def _():
    return db.fact_paths(query=q.RegexArrayOperator("path", ["os", "fam.*"]))


@reading("fact contents")
def _():
    return db.fact_contents(query=q.EqualsOperator("path", ["os", "family"]))


@reading("factsets")
def _():
    return [[s["certname"], len(s["facts"]["data"]), s["producer"]] for s in db.factsets()]


@reading("resources")
def _():
    return len(list(db.resources()))


@reading("resources by type")
def _():
    found = list(db.resources("sshkey"))
    return sorted({(r.type_, r.exported) for r in found}) + [len(found)]


@reading("a resource by type and title")
def _():
    some = next(db.resources("package", limit=1))
    found = list(db.resources("package", some.name, query=q.EqualsOperator("certname", some.node)))
    return [len(found), found[0].name == some.name, found[0].parameters == some.parameters]


@reading("catalogs")
def _():
    return [[c.node, len(c.resources), len(c.edges), c.environment] for c in db.catalogs()]


@reading("one catalog")
def _():
    catalog = db.catalog(first_name())
    stage = catalog.get_resource("Stage", "main")
    return [catalog.node, stage.type_, len(stage.relationships) > 0, len(list(catalog.get_edges()))]


@reading("edges")
def _():
    edges = db._query("edges", query=q.EqualsOperator("certname", first_name()))
    return [len(edges), sorted(edges[0])]


@reading("reports")
def _():
    return [[r.node, r.status, r.run_time.total_seconds() > 0, len(r.metrics) > 0] for r in db.reports()]


@reading("the newest report and its events")
def _():
    newest = q.AndOperator()
    newest.add(q.EqualsOperator("latest_report?", True))
    newest.add(q.EqualsOperator("status", "changed"))
    report = next(db.reports(query=newest, limit=1))
    return [len(report.hash_), len(list(report.events())), len(report.logs) > 0]


@reading("events")
def _():
    return sorted({(e.status, e.failed) for e in db.events()}) + [len(list(db.events()))]


@reading("event counts")
def _():
    return {
        f"{summary} by {count}": len(db.event_counts(summary, count_by=count))
        for summary in ("certname", "resource", "containing_class")
        for count in ("certname", "resource")
    }


@reading("event counts of latest reports")
def _():
    return db.event_counts("certname", query=q.EqualsOperator("latest_report?", True))


@reading("event counts with a filter")
def _():
    return len(db.event_counts("certname", count_filter='[">", "successes", 0]'))


@reading("aggregate event counts")
def _():
    return db.aggregate_event_counts("certname")


@reading("aggregate event counts of all kinds")
def _():
    return db.aggregate_event_counts("certname,resource,containing_class", query=q.EqualsOperator("latest_report?", True))


@reading("environments")
def _():
    return db.environments()


@reading("inventory")
def _():
    return [[i.node, i.facts["kernel"], i.environment, isinstance(i.time, datetime)] for i in db.inventory()]


@reading("inventory by a fact's path")
def _():
    return len(list(db.inventory(query=q.EqualsOperator("facts.os.family", "Debian"))))


@reading("PQL")
def _():
    return db._query("pql", query="nodes[count()] { facts_environment is not null }")


@reading("PQL by POST")
def _():
    return db._query("pql", query="nodes[certname] { order by certname limit 2 }", request_method="POST")


@reading("query operators")
def _():
    extract = q.ExtractOperator()
    extract.add_field("type")
    extract.add_field(q.FunctionOperator("count"))
    extract.add_query(q.RegexOperator("title", "^/"))
    extract.add_group_by("type")
    return db._query("resources", query=extract)


@reading("subqueries")
def _():
    reports = q.SubqueryOperator("reports")
    reports.add_query(q.EqualsOperator("status", "changed"))
    selected = q.ExtractOperator()
    selected.add_field("certname")
    selected.add_query(reports)
    within = q.InOperator("certname")
    within.add_query(selected)
    return sorted(n.name for n in db.nodes(query=within))


@reading("an array of names")
def _():
    names = [n.name for n in db.nodes()][:3]
    within = q.InOperator("certname")
    within.add_array(names)
    return [sorted(names), sorted(n.name for n in db.nodes(query=within))]


@reading("from, with order and limit")
def _():
    source = q.FromOperator("nodes")
    names = q.ExtractOperator()
    names.add_field("certname")
    names.add_query(q.NullOperator("deactivated", True))
    source.add_query(names)
    source.add_order_by([["certname", "desc"]])
    source.add_limit(2)
    source.add_offset(1)
    return db._query("pql", query=source)


@reading("comparisons, and, or, not")
def _():
    either = q.OrOperator()
    either.add(q.EqualsOperator(["fact", "kernel"], "Linux"))
    either.add(q.LessOperator(["fact", "metric_0"], -1))
    neither = q.NotOperator()
    neither.add(q.GreaterEqualOperator("catalog_timestamp", "2100-01-01T00:00:00Z"))
    both = q.AndOperator()
    both.add([either, neither])
    return len(list(db.nodes(query=both)))


@reading("functions")
def _():
    extract = q.ExtractOperator()
    for function in ("avg", "sum", "min", "max"):
        extract.add_field(q.FunctionOperator(function, "line"))
    extract.add_field(q.FunctionOperator("count"))
    extract.add_query(q.EqualsOperator("type", "File"))
    return db._query("resources", query=extract)


@reading("times as text")
def _():
    extract = q.ExtractOperator()
    extract.add_field(q.FunctionOperator("to_string", "producer_timestamp", "YYYY"))
    extract.add_field(q.FunctionOperator("count"))
    extract.add_query(q.NullOperator("status", False))
    extract.add_group_by(q.FunctionOperator("to_string", "producer_timestamp", "YYYY"))
    return db._query("reports", query=extract)


@reading("list of metrics")
def _():
    return {domain: len(beans) for domain, beans in db.metric().items()}


@reading("every metric of the list")
def _():
    unread = []
    for domain, beans in db.metric().items():
        for properties in beans:
            value = db.metric(f"{domain}:{properties}")
            if not isinstance(value, dict):
                unread.append([domain, properties, value])
    return unread


@reading("a metric")
def _():
    return sorted(db.metric("puppetlabs.puppetdb.population:name=num-nodes"))


@reading("population of nodes")
def _():
    return db.metric("puppetlabs.puppetdb.population:name=num-nodes")["Value"]


@reading("memory")
def _():
    return db.metric("java.lang:type=Memory")["HeapMemoryUsage"]["used"] > 0


@reading("a metric that is not there")
def _():
    try:
        return db.metric("nosuch:name=nosuch")
    except Exception as error:
        return type(error).__name__


@reading("list of metrics, version 1")
def _():
    return len(db.metric(version="v1")) > 0


@reading("a metric, version 1")
def _():
    return sorted(db.metric("puppetlabs.puppetdb.population:name=num-nodes", version="v1"))


@reading("version of the metrics protocol")
def _():
    return sorted(db._query("metrics-version"))


@reading("metrics by pattern")
def _():
    return db._query("metrics-search", path="puppetlabs.puppetdb.population:*")["value"]


@reading("server time")
def _():
    text = db._query("server-time")["server_time"]
    told = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
    return abs((datetime.now(timezone.utc) - told).total_seconds()) < 60


@reading("current version")
def _():
    return db.current_version()


@reading("status")
def _():
    return db.status()


@reading("the same over cleartext")
def _():
    return len(list(plain.nodes()))


@reading("commands")
def _():
    now = datetime.now(timezone.utc).isoformat()
    common = {"certname": "py.example.com", "producer_timestamp": now}
    facts = {**common, "environment": "production", "producer": "py", "values": {"kernel": "Python"}}
    return [
        sorted(db.command("replace facts", facts)),
        sorted(db.command("deactivate node", {**common, "certname": first_name()})),
    ]


json.dump(readings, sys.stdout, default=str)
