import { get, newest, send } from './api.js';
import { error, h } from './dom.js';
import { poll } from './main.js';

// Follows an operation: calls back with its state at each change, and each second while it runs.
export function follow(kind, signal, changed) {
  let running = null;
  const requested = newest();
  async function look() {
    const isNewest = requested();
    let job;
    try {
      job = (await get('jobs'))[kind];
    } catch (e) {
      return;
    }
    if (!signal.aborted && isNewest() && job && (job.running || running !== false)) {
      running = job.running;
      changed(job);
    }
  }
  poll(signal, () => { if (running) { look(); } });
  return { look, started: () => { running = null; return look(); } };
}

export function bar(job, kind, text) {
  return h('div', { class: 'actions' },
    h('progress', job.total > 0 ? { max: job.total, value: Math.min(job.done, job.total), 'aria-label': kind } : { 'aria-label': kind }),
    h('span', { role: 'status' }, text),
    h('button', { type: 'button', name: 'cancel', onclick: () => send('DELETE', 'jobs', { kind }) }, 'Cancel'));
}

export async function start(kind, body, problem) {
  problem.replaceChildren();
  try {
    await send('POST', 'jobs', { kind, ...body });
    return true;
  } catch (e) {
    problem.replaceChildren(error(e));
    return false;
  }
}
