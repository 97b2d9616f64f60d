package io.fovea.ratis;

import static io.fovea.ratis.Consistency.LINEARIZABLE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.ratis.Operations.Add;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Each peer is restarted while clients use the others: no request fails, and each is applied once.
 * As with a load balancer, a peer that is about to close gets no new requests, and closes after
 * answering those it has.
 */
@Tag("slow")
class RollingRestartTest {
  @TempDir Path directory;

  @Test
  void noRequestFails() throws Exception {
    try (Group g = Group.ofThree(directory, UnaryOperator.identity())) {
      AtomicBoolean over = new AtomicBoolean();
      AtomicLong done = new AtomicLong();
      AtomicLong next = new AtomicLong();
      AtomicReference<Throwable> failure = new AtomicReference<>();
      ReentrantReadWriteLock door = new ReentrantReadWriteLock();
      List<String> open = new ArrayList<>(List.of("a", "b", "c"));
      List<Thread> clients = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        boolean reads = i == 0;
        clients.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      while (!over.get()) {
                        door.readLock().lock();
                        try {
                          String id = open.get((int) (next.getAndIncrement() % open.size()));
                          if (reads) {
                            g.get(id).read(LINEARIZABLE, tx -> null);
                          } else {
                            g.get(id).submit(new Add("n", 1)).get();
                            done.incrementAndGet();
                          }
                        } catch (Exception e) {
                          failure.compareAndSet(null, e);
                          return;
                        } finally {
                          door.readLock().unlock();
                        }
                      }
                    }));
      }
      for (String id : List.of("a", "b", "c")) {
        door.writeLock().lock(); // requests in progress have ended
        open.remove(id);
        door.writeLock().unlock();
        g.stop(id);
        ReplicatedDatabase again = ReplicatedDatabase.join(g.options(id, g.peers));
        again.read(LINEARIZABLE, tx -> null); // it has caught up
        door.writeLock().lock();
        g.up.put(id, again);
        open.add(id);
        door.writeLock().unlock();
      }
      over.set(true);
      for (Thread t : clients) {
        t.join();
      }
      if (failure.get() != null) {
        throw new AssertionError("A request has failed.", failure.get());
      }
      assertTrue(done.get() > 0);
      byte[] export = Group.export(g.leader(), LINEARIZABLE);
      for (ReplicatedDatabase db : g.up.values()) {
        long n = db.read(LINEARIZABLE, tx -> Operations.value(tx, Operations.REGISTERS, "n"));
        assertEquals(done.get(), n);
        assertArrayEquals(export, Group.export(db, LINEARIZABLE));
      }
    }
  }
}
