import { get } from './api.js';
import { SECONDS } from './chart.js';
import { error } from './dom.js';
import { poll } from './main.js';

// Requests figures each second, and keeps the replies of the last two minutes, also while other views are shown.
export class Samples {
  // The function commits returns the number of commits in a reply.
  constructor(path, commits) {
    this.path = path;
    this.commits = commits;
    this.all = [];
  }

  // Calls render with each reply until the view ends. The element problem shows a failure.
  async show(signal, problem, render) {
    let asking = false; // one request at a time: samples are in order, and a slow process gets no queue
    const sample = async () => {
      if (asking) {
        return;
      }
      asking = true;
      let now;
      try {
        now = await get(this.path);
      } catch (e) {
        problem.replaceChildren(error(e));
        return;
      } finally {
        asking = false;
      }
      if (signal.aborted) {
        return;
      }
      problem.replaceChildren();
      this.add(now);
      render(now);
    };
    await sample();
    poll(signal, sample);
  }

  add(now) {
    const last = this.all.at(-1);
    if (last && (now.attached !== last.attached || this.commits(now) < this.commits(last))) {
      this.all = []; // of another process, or of a database that was opened again
    }
    this.all = [...this.all, now].filter(s => now.millis - s.millis <= SECONDS * 1000);
  }

  // Draws charts, each given with a function of its values. A point is what happened between two samples.
  draw(charts, between) {
    const points = this.all.slice(1).map((s, i) => between(this.all[i], s));
    charts.forEach(([chart, of]) => chart.draw(points.map(p => ({ at: p.at, values: of(p) }))));
    return points;
  }
}
