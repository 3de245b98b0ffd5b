import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { matchRoute } from '../../../../engine/query/request/route.ts';
import { entityNames } from '../../../../schemas/entities.ts';
import { paramSets, queryRoutes } from '../../../../schemas/query-routes.ts';

const match = (path: string, edition: 'community' | 'enterprise' = 'community') => {
  const found = matchRoute('query', path, edition);
  return found === null ? null : [found.route.path, found.params];
};

describe('query routes: the table', () => {
  it('every path parameter that a check or an answer names is in the path', () => {
    for (const { path, checks, answer } of queryRoutes) {
      const names = path.split('/').flatMap((s) => (s.startsWith(':') || s.startsWith('.') ? [s.slice(1)] : []));
      assert.equal(new Set(names).size, names.length, path);
      for (const check of checks) if (check.kind === 'parent') assert.ok(names.includes(check.param), path);
      if (answer.kind === 'rows') {
        for (const filter of answer.filters) if (filter !== 'active') assert.ok(names.includes(filter.param), path);
      }
      if ('param' in answer) assert.ok(names.includes(answer.param), path);
    }
  });

  it('no two routes have the same path', () => {
    const keys = queryRoutes.map((r) => `${r.api} ${r.path.replace(/[:.]\w+/g, '*')}`);
    assert.equal(new Set(keys).size, keys.length);
  });

  it('every entity that can be listed has a route, and every route reads its parameters once at least', () => {
    const listed = new Set(queryRoutes.flatMap((r) => ('entity' in r.answer ? [r.answer.entity] : [])));
    const pseudo = new Set([
      'resource_params',
      'latest_report',
      'latest_report_id',
      'inactive_nodes',
      'not_active_nodes',
    ]);
    for (const name of entityNames()) assert.equal(listed.has(name), !pseudo.has(name), name);
    for (const { path, checks } of queryRoutes) {
      assert.ok(
        checks.some((c) => c.kind === 'params' && paramSets[c.set]),
        path,
      );
    }
  });
});

describe('query routes: matching', () => {
  it('is exact', () => {
    assert.deepEqual(match(''), ['', {}]);
    assert.deepEqual(match('/nodes'), ['/nodes', {}]);
    for (const path of ['/', '//nodes', '/Nodes', '/nodes/a/', '/nodes/a/b', '/reports/abc', '/bogus']) {
      assert.equal(match(path), null, path);
    }
  });

  it('a wide parameter may be empty and is percent-decoded once', () => {
    assert.deepEqual(match('/nodes/'), ['/nodes/:node', { node: '' }]);
    assert.deepEqual(match('/facts/kernel/'), ['/facts/:fact/:value', { fact: 'kernel', value: '' }]);
    assert.deepEqual(match('/facts//x'), ['/facts/:fact/:value', { fact: '', value: 'x' }]);
    assert.deepEqual(match('/nodes//facts'), ['/nodes/:node/facts', { node: '' }]);
    assert.deepEqual(match('/resources/File/%2Fetc%2Fa%20b'), [
      '/resources/:type/:title',
      { type: 'File', title: '/etc/a b' },
    ]);
    assert.deepEqual(match('/nodes/a%2Bb%2525c'), ['/nodes/:node', { node: 'a+b%25c' }]);
    assert.deepEqual(match('/facts/%ff%C3%A9'), ['/facts/:fact', { fact: '\ufffdé' }]);
    for (const path of ['/facts/sp+ace', '/facts/a@b', '/nodes/a(b)', '/facts/a;b', '/facts/é']) {
      assert.equal(match(path), null, path);
    }
  });

  it('a narrow parameter takes no percent codes and is never empty', () => {
    assert.deepEqual(match('/factsets/a.example.com/facts'), ['/factsets/.node/facts', { node: 'a.example.com' }]);
    for (const path of ['/factsets/a%2Eexample.com', '/factsets/', '/package-inventory/a:b', '/reports/a%62/logs']) {
      assert.equal(match(path), null, path);
    }
  });

  it('enterprise routes exist in the enterprise edition only', () => {
    assert.equal(match('/reports/abc/resources'), null);
    assert.deepEqual(match('/reports/abc/resources', 'enterprise'), ['/reports/.hash/resources', { hash: 'abc' }]);
    assert.equal(matchRoute('ext', '/state-overview', 'community'), null);
    assert.ok(matchRoute('ext', '/state-overview', 'enterprise'));
    assert.equal(matchRoute('ext', '/nodes', 'enterprise'), null);
  });
});
