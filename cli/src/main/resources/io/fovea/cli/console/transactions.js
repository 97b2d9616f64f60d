import { Chart } from './chart.js';
import { count, h, table, tile } from './dom.js';
import { micros, percent, short } from './activity.js';
import { state } from './main.js';
import { Samples } from './samples.js';

// What helps if a cause is frequent.
const REMEDIES = {
  VALIDATION: 'getForUpdate on hot records; shorter transactions; shards',
  LOCK: 'getForUpdate on hot records; shorter transactions; shards',
  PHANTOM: 'narrower scans; a shard in front of the key',
  ORDER: 'the default protocol',
  HISTORY: 'shorter transactions; the default protocol',
  CATALOG: 'fewer catalog changes and large range deletes',
  ADMISSION: 'shed load; end stuck transactions',
  TIMEOUT: 'split the work',
  TOO_LARGE: 'split the work',
  USER: 'let exceptions pass',
};

const samples = new Samples('transactions', s => s.commits);
const words = cause => cause.toLowerCase().replaceAll('_', ' ');

export async function transactions(root, parts, signal) {
  const charts = [
    [new Chart('Retries/s', ['retries'], short), p => [p.retries]],
    [new Chart('Attempts per commit', ['mean'], n => (n === 0 ? '0' : n.toFixed(2))), p => [p.attempts]],
    [new Chart('Mean duration', ['commits'], micros), p => [p.duration]],
  ];
  const problem = h('div');
  const tiles = h('div', { class: 'tiles' });
  const bodies = h('div');
  const causes = h('div');
  root.append(h('h1', {}, 'Slow and retried transactions'), problem, tiles,
    h('div', { class: 'charts' }, charts.map(([c]) => c.element)),
    h('h2', {}, 'Bodies'), bodies,
    h('p', { class: 'muted' }, 'The application names a body: ', h('code', {}, 'db.run("transfer", tx -> ...)'), '. The engine keeps figures of 64 names. ',
    h('code', {}, 'other'), ' sums up further names, and the retries of bodies without a name, whose runs are not counted.'),
    h('h2', {}, 'Aborted attempts by cause'), causes);

  function between(a, b) {
    const commits = b.commits - a.commits;
    const retries = b.retries - a.retries;
    return {
      at: b.millis / 1000,
      retries: 1000 * retries / (b.millis - a.millis),
      attempts: commits > 0 ? 1 + retries / commits : null,
      duration: commits > 0 ? (b.transactionNanos - a.transactionNanos) / commits / 1000 : null,
    };
  }

  function render(now) {
    samples.draw(charts, between);
    tiles.replaceChildren(
      tile('commits', count(now.commits)),
      tile('retries', count(now.retries)),
      tile('retries per commit', now.commits > 0 ? percent(100 * now.retries / now.commits) : '-'),
      tile('pessimistic attempts', count(now.pessimisticAttempts)),
      tile('mean duration', now.commits > 0 ? micros(now.transactionNanos / now.commits / 1000) : '-'),
      tile('running', count(now.active)),
      tile('waiting', count(now.waiting)),
      tile('oldest running', now.oldestNanos > 0 ? micros(now.oldestNanos / 1000) : '-'));
    const all = now.causes.reduce((sum, c) => sum + c.attempts, 0);
    const first = samples.all[0];
    const rate = (after, before) => (now.millis > first.millis ? short(1000 * (after - before) / (now.millis - first.millis)) : '-');
    const earlier = (list, name, value) => list.find(e => e[name] === value) ?? {};
    const named = now.bodies.filter(b => b.runs > 0 || b.causes.length > 0).sort((a, b) => b.retries - a.retries || b.nanos - a.nanos);
    bodies.replaceChildren(named.length === 0 ? h('p', { class: 'muted' }, 'No body with a name has run.')
      : table(['Body', 'Runs', 'Per second', 'Mean', 'Longest', 'Retries', 'Per run', 'Aborted by'], named.map(b => [
        h('span', { class: 'name', title: b.body }, b.body), count(b.runs), rate(b.runs, earlier(first.bodies, 'body', b.body).runs ?? 0),
        b.runs > 0 ? micros(b.nanos / b.runs / 1000) : '-', b.runs > 0 ? micros(b.maxNanos / 1000) : '-',
        count(b.retries), b.runs > 0 ? percent(100 * b.retries / b.runs) : '-',
        b.causes.map(c => `${words(c.cause)} ${count(c.attempts)}`).join(', ')]), [1, 2, 3, 4, 5, 6]));
    causes.replaceChildren(all === 0 ? h('p', { class: 'muted' }, 'None since the database was opened.')
      : table(['Cause', 'Attempts', 'Share', 'Per second', 'Retried', 'Why', 'If it is frequent'],
        now.causes.filter(c => c.attempts > 0).sort((a, b) => b.attempts - a.attempts).map(c => [
          words(c.cause), count(c.attempts), percent(100 * c.attempts / all),
          rate(c.attempts, earlier(first.causes, 'cause', c.cause).attempts ?? 0), c.retried ? 'yes' : 'no',
          h('span', { class: 'prose' }, c.explanation), h('span', { class: 'prose' }, REMEDIES[c.cause] ?? '')]), [1, 2, 3]));
  }

  if (!state.info.write && !state.info.attached) {
    root.insertBefore(h('p', { class: 'muted' }, 'This console only reads, and its own figures follow. Those of an application appear if the'
      + ' console is started with --copy, and connected in the activity view.'), problem);
  }
  await samples.show(signal, problem, render);
  return 'Slow and retried';
}
