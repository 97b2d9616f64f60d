package io.fovea.crash;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.config.Durability;
import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Closes a database at a call site of an operation, for each operation and call site, and does
 * operations at the call sites of a close. Loaded by {@link ErrorWeaver}.
 *
 * <p>One thread stops at a call site and starts the other, which runs until it ends or waits; then
 * the first continues. So one of the two is always in the middle of something, in states that a
 * scheduler rarely produces.
 *
 * <p>In every case the close returns, the operation succeeds or throws an exception of {@code
 * io.fovea.error} that does not report damage, no resource remains, and the reopened database is
 * intact.
 */
public final class CloseRun implements Supplier<String> {
  /** One of this many call sites of a close is tried, for each call site of an operation. */
  private static final int REVERSED = 3;

  /** The short form tries one of 4 to 512 call sites of an operation, by powers of two. */
  private static final int STRIDES = 8;

  private static final int FAILURES_MAX = 20;

  /**
   * How often the other thread must be seen waiting in the same call before the first continues.
   */
  private static final int LOOKS = 4;

  private static final int LOOKS_MAX = 200;

  private enum Mode {
    MEMORY,
    NONE,
    ASYNC,
    SYNC
  }

  private final Path dir;
  private final Mode mode;
  private final long seed;
  private final int stride;
  private final List<String> only;
  private final Map<String, BitSet> tried = new HashMap<>();
  private final Map<String, Integer> outcomes = new TreeMap<>();
  private final List<String> failures = new ArrayList<>();
  private volatile String last = "";
  private int places;
  private int n;

  /**
   * Takes the arguments, separated by spaces.
   *
   * @param arguments a directory; a mode; a seed; the stride over call sites, or 0 for a single one
   *     of each operation; optionally the operations' names, separated by commas
   */
  public CloseRun(String arguments) {
    String[] a = arguments.split(" ", 5);
    dir = Path.of(a[0]);
    mode = Mode.valueOf(a[1]);
    seed = Long.parseLong(a[2]);
    stride = Integer.parseInt(a[3]);
    only = a.length < 5 || a[4].isEmpty() ? ApiCalls.names() : List.of(a[4].split(","));
  }

  /** Describes the current case, for the report of a hang. */
  @Override
  public String toString() {
    return last + "; failures so far: " + failures;
  }

  @Override
  public String get() {
    Session.quiet();
    try {
      // The short form: each operation in one mode, at one call site of it and one of the close.
      boolean brief = stride == 0;
      for (int i = 0; i < only.size(); i++) {
        if (brief && only.size() > 1 && (i + mode.ordinal() + seed) % Mode.values().length != 0) {
          continue;
        }
        String call = only.get(i);
        while (one(call, false) && !brief) {
          // until each call site was tried
        }
        for (int k = 0; k < (brief ? 1 : REVERSED) && one(call, true); k++) {
          // call sites of the close
        }
      }
    } catch (IOException e) {
      throw new AssertionError(last, e);
    }
    report();
    return mode + ": closed at " + places + " call sites: " + outcomes;
  }

  private void report() {
    if (!failures.isEmpty()) {
      throw new AssertionError(failures.size() + " failures\n" + String.join("\n", failures));
    }
  }

  private Options options() {
    return ApiCalls.small(mode == Mode.MEMORY ? Durability.NONE : Durability.valueOf(mode.name()))
        .name(mode == Mode.MEMORY ? "memory" : "file" + n);
  }

  private Database open(Path file) {
    return mode == Mode.MEMORY ? Database.inMemory(options()) : Database.open(file, options());
  }

  /** Closes once; returns false if no call site is left. */
  private boolean one(String call, boolean reversed) throws IOException {
    Path here = Files.createDirectory(dir.resolve("c" + n++));
    Path file = here.resolve("d");
    Random r = new Random(seed + n);
    Database db = open(file);
    ApiCalls calls = new ApiCalls(db, here);
    last = call + (reversed ? " at a call site of the close" : "") + ", case " + n;
    Throwable[] thrown = new Throwable[2];
    Runnable operation =
        () -> {
          try {
            calls.run(call);
          } catch (Throwable t) {
            thrown[0] = t;
          }
        };
    Runnable close =
        () -> {
          try {
            db.close();
          } catch (Throwable t) {
            thrown[1] = t;
          }
        };
    Thread other = Thread.ofPlatform().name("other").unstarted(reversed ? operation : close);
    BitSet seen = tried.computeIfAbsent(reversed ? "close" : call, k -> new BitSet());
    int before = seen.cardinality();
    int nth = r.nextInt(3) == 0 ? 1 + r.nextInt(4) : 1;
    String hit;
    int every = stride == 0 ? 1 << 2 + r.nextInt(STRIDES) : stride;
    ErrorProbe.armAction(
        seen, every, (int) seed * 31 + mode.ordinal() * 977, nth, () -> begin(other));
    try {
      (reversed ? close : operation).run();
    } finally {
      hit = ErrorProbe.disarm();
    }
    if (hit == null) {
      other.start();
    }
    try {
      other.join();
    } catch (InterruptedException e) {
      throw new AssertionError(last, e);
    }
    if (hit != null) {
      places++;
    }
    try {
      check(db, file, thrown);
    } catch (Throwable t) {
      fail(hit, t, thrown);
    } finally {
      if (db.isOpen()) {
        io.fovea.SimDatabase.abandon(db);
      }
      ApiCalls.delete(here);
    }
    return seen.cardinality() > before; // a call site that was reached less often counts as tried
  }

  /** Starts the other thread; returns when it has ended or waits. */
  private void begin(Thread other) {
    last = last + " before " + ErrorProbe.where();
    other.start();
    StackTraceElement[] before = {};
    int same = 0;
    for (int i = 0; i < LOOKS_MAX && same < LOOKS && other.isAlive(); i++) {
      try {
        if (other.join(java.time.Duration.ofMillis(1))) {
          return;
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
      StackTraceElement[] now = other.getStackTrace();
      boolean waits =
          switch (other.getState()) {
            case WAITING, TIMED_WAITING, BLOCKED -> true;
            default ->
                Arrays.stream(now).anyMatch(e -> e.getMethodName().equals("awaitOperations"));
          };
      same = waits && now.length == before.length ? same + 1 : 0;
      before = now;
    }
  }

  private void check(Database db, Path file, Throwable[] thrown) throws IOException {
    Throwable t = thrown[0];
    outcomes.merge(t == null ? "done" : t.getClass().getSimpleName(), 1, Integer::sum);
    if (t != null && (!(t instanceof FoveaException) || t instanceof CorruptionException)) {
      throw new AssertionError("the operation threw " + t);
    }
    if (thrown[1] != null) {
      throw new AssertionError("the close threw " + thrown[1]);
    }
    if (db.isOpen()) {
      throw new AssertionError("the database is still open");
    }
    if (mode == Mode.MEMORY) {
      return;
    }
    try (Stream<Path> all = Files.list(file.getParent())) {
      List<String> left =
          all.map(p -> p.getFileName().toString())
              .filter(f -> !f.equals("d") && !f.equals("d.log") && !f.equals("d.dwb"))
              .filter(f -> f.startsWith("d."))
              .toList();
      if (!left.isEmpty()) {
        throw new AssertionError("files remain: " + left);
      }
    }
    try (Database again = open(file)) {
      ApiCalls.check(again);
    }
  }

  private void fail(@Nullable String hit, Throwable t, Throwable[] thrown) {
    StringBuilder s = new StringBuilder(last).append(" [").append(hit).append("]: ").append(t);
    for (Throwable one : new Throwable[] {thrown[0], thrown[1], t}) {
      if (one != null) {
        s.append("\n    ").append(one);
        Arrays.stream(one.getStackTrace()).limit(14).forEach(e -> s.append("\n      ").append(e));
      }
    }
    failures.add(s.toString());
    if (failures.size() >= FAILURES_MAX) {
      report();
    }
  }

  /** How long a run may make no progress; see {@link CloseAnywhereTest}. */
  static final long STANDSTILL_SECONDS = TimeUnit.MINUTES.toSeconds(2);
}
