package io.fovea.explorer;

import io.fovea.BackupOptions;
import io.fovea.BackupPosition;
import io.fovea.BackupReport;
import io.fovea.Database;
import io.fovea.Options;
import io.fovea.Restore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Snapshots, which must not change, and backups, which must be restorable. */
final class Copies {
  private record Kept(Database snapshot, String digest) {}

  private final List<Kept> kept = new ArrayList<>();

  /** The chain of backups so far: a full one and its increments. */
  private final List<Path> chain = new ArrayList<>();

  private @Nullable BackupPosition position;
  private int number;

  // ----------------------------------------------------------------------------------- snapshots

  /** Opens a snapshot, reads one again, or closes one. */
  static void snapshot(Life life, Worker worker) {
    life.state(Copies.class, Copies::new).snapshots(life, worker);
  }

  private @Nullable Kept take(Worker worker) {
    synchronized (kept) {
      return kept.isEmpty() ? null : kept.remove(worker.random.nextInt(kept.size()));
    }
  }

  private void snapshots(Life life, Worker worker) {
    Kept old = take(worker);
    if (old == null || worker.oneIn(3)) {
      Database s = life.db.snapshot();
      boolean done = false;
      try {
        String digest = Life.checkAll(s);
        synchronized (kept) {
          kept.add(new Kept(s, digest));
          if (old != null) {
            kept.add(old);
          }
          done = true;
        }
      } finally {
        if (!done) {
          s.close();
        }
      }
      return;
    }
    boolean keep = false;
    try {
      String now = Life.checkAll(old.snapshot);
      if (!now.equals(old.digest)) {
        throw new Violation("a snapshot has changed: it was " + old.digest + ", it is " + now);
      }
      if (worker.oneIn(4)) {
        Maintenance.require(life, old.snapshot.verify(), "verify of a snapshot");
      }
      keep = worker.random.nextBoolean();
    } finally {
      if (!keep) {
        old.snapshot.close();
      }
    }
    if (keep) {
      synchronized (kept) {
        kept.add(old);
      }
    }
  }

  // ------------------------------------------------------------------------------------- backups

  static void backup(Life life, Worker worker) throws IOException {
    life.state(Copies.class, Copies::new).backups(life, worker);
  }

  private void backups(Life life, Worker worker) throws IOException {
    Path own = life.scratch.resolve("backups");
    Files.createDirectories(own);
    boolean adds = position != null && chain.size() < 4 && worker.random.nextBoolean();
    if (!adds) {
      delete(own);
      chain.clear();
      position = null;
    }
    Path dir = own.resolve("b" + number++);
    long[] least = life.expected.least(true);
    BackupOptions how = BackupOptions.defaults();
    BackupReport report = life.db.backup(dir, adds ? how.since(position) : how);
    chain.add(dir);
    position = report.position();
    if (position != null && worker.oneIn(2)) {
      return;
    }
    Restore restore = Restore.from(chain.getFirst());
    for (Path more : chain.subList(1, chain.size())) {
      restore = restore.then(more);
    }
    Path restored = life.scratch.resolve("restored");
    delete(restored);
    Files.createDirectories(restored);
    Options options =
        Options.defaults()
            .bufferBytes(16 << 20)
            .device(d -> d.pageSize(life.setup.pageSize()))
            .expiry(e -> e.clock(life.clock));
    try {
      restore.to(restored.resolve("copy"), options);
      Options readOnly = options.readOnly(worker.random.nextBoolean());
      try (Database copy = Database.open(restored.resolve("copy"), readOnly)) {
        Life.checkAll(copy);
        Acks.require(copy, least, "a backup");
      }
    } finally {
      delete(restored);
    }
  }

  static void delete(Path tree) throws IOException {
    if (!Files.exists(tree)) {
      return;
    }
    try (Stream<Path> all = Files.walk(tree)) {
      for (Path p : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(p);
      }
    }
  }
}
