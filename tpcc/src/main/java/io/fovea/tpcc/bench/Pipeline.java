package io.fovea.tpcc.bench;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;

/**
 * A thread that serves several clients. While the commit of one client becomes durable, it works
 * for another. It waits only when all clients wait.
 *
 * <pre>
 *   ready ──execute──► waiting for the log, oldest first ──durable: acknowledge──► ready
 * </pre>
 *
 * <p>A client begins its next transaction when the previous one was acknowledged, as it would on a
 * separate thread. Durability is checked before each transaction, so latencies err on the long
 * side.
 */
public final class Pipeline {
  private final Crew crew;
  private final Queue<Client> ready;
  private final Queue<Client> waiting;

  public Pipeline(Crew crew, List<? extends Client> clients) {
    this.crew = crew;
    this.ready = new ArrayDeque<>(clients);
    this.waiting = new ArrayDeque<>(clients.size());
  }

  /** Works until the crew stops. */
  public void work() {
    while (!crew.stopping()) {
      for (Client w = waiting.peek();
          w != null && w.commitHandle().isDurable();
          w = waiting.peek()) {
        acknowledge(waiting.remove());
      }
      Client next = ready.poll();
      if (next != null) {
        (next.execute() ? waiting : ready).add(next);
        continue;
      }
      Client oldest = waiting.remove();
      oldest.commitHandle().await();
      acknowledge(oldest);
    }
  }

  private void acknowledge(Client client) {
    client.acknowledge();
    ready.add(client);
  }
}
