package io.fovea.tpcc.bench;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;

/**
 * A thread that serves several clients. While the commit of one becomes durable it works for
 * another; it waits where all of them do.
 *
 * <pre>
 *   ready ──execute──► waiting for the log, oldest first ──durable: acknowledge──► ready
 * </pre>
 *
 * <p>A client begins its next transaction when the one before was acknowledged, as with a thread of
 * its own. What is durable is noticed before each transaction: a latency is a little too long
 * rather than too short.
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
