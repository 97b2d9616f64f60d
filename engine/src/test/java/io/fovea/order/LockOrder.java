package io.fovea.order;

import io.fovea.txn.Tx;
import io.fovea.wal.LogSession;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The order of locks and waits, from the table of docs/internals/concurrency.md, and what each
 * thread holds. {@link LockOrderAgent} weaves calls of this class into the engine.
 *
 * <p>A waiting thread may hold only locks that precede the awaited one in the table. So a single
 * thread reveals an inversion, without a deadlock. Attempts without a wait are not checked, but
 * what they acquire counts as held.
 *
 * <p>Each kind of inversion is recorded once, and fails the running test ({@link #poll}).
 */
public final class LockOrder {
  private static final Pattern ROW = Pattern.compile("\\| *(\\d+) *\\|([^|]*)\\|([^|]*)\\|.*");
  private static final Pattern NAME = Pattern.compile("`([A-Za-z.]+)`");
  private static final Pattern EXCEPTION =
      Pattern.compile("- `([A-Za-z.]+)` within `([A-Za-z.]+)`.*");

  private static volatile Map<String, Integer> ranks = Map.of();

  /** Allowed exceptions: by the name of the wait, methods within which it may be out of order. */
  private static volatile Map<String, String[]> exceptions = Map.of();

  private static final Map<String, Boolean> TOLD = new ConcurrentHashMap<>();
  private static final Queue<AssertionError> FOUND = new ConcurrentLinkedQueue<>();
  private static final AtomicLong CHECKS = new AtomicLong();
  private static final ThreadLocal<Held> HELD = ThreadLocal.withInitial(Held::new);

  /** The holders of what another thread may release: contexts and log sessions. */
  private static final Map<Object, Held> OWNERS = new ConcurrentHashMap<>();

  private LockOrder() {}

  /** Locks held by a thread. Guarded by its monitor, as another thread may end its transaction. */
  private static final class Held {
    private @Nullable Object[] what = new @Nullable Object[16];
    private String[] names = new String[16];
    private int[] ranks = new int[16];
    private int size;

    synchronized void add(Object one, String name, int rank) {
      if (size == what.length) {
        what = Arrays.copyOf(what, 2 * size);
        names = Arrays.copyOf(names, 2 * size);
        ranks = Arrays.copyOf(ranks, 2 * size);
      }
      what[size] = one;
      names[size] = name;
      ranks[size++] = rank;
    }

    synchronized void remove(Object one) {
      for (int i = size - 1; i >= 0; i--) {
        if (what[i] == one) {
          int behind = --size - i;
          System.arraycopy(what, i + 1, what, i, behind);
          System.arraycopy(names, i + 1, names, i, behind);
          System.arraycopy(ranks, i + 1, ranks, i, behind);
          what[size] = null;
          return;
        }
      }
    }

    /** Returns what is held at or after a rank; null if nothing. */
    synchronized @Nullable String behind(Object one, int rank, boolean mayBeSame) {
      String first = null;
      for (int i = 0; i < size; i++) {
        if (what[i] == one) {
          return null; // reentrant
        }
        if (ranks[i] > rank || ranks[i] == rank && !mayBeSame) {
          first = names[i];
        }
      }
      return first;
    }
  }

  /** Reads the order from its table. */
  static void read(Path page) {
    Map<String, Integer> order = new HashMap<>();
    Map<String, String[]> allowed = new HashMap<>();
    try {
      for (String line : Files.readAllLines(page)) {
        Matcher row = ROW.matcher(line);
        if (row.matches()) {
          Matcher name = NAME.matcher(row.group(3));
          while (name.find()) {
            order.put(name.group(1), Integer.parseInt(row.group(1)));
          }
        }
        Matcher e = EXCEPTION.matcher(line);
        if (e.matches()) {
          String[] more = allowed.getOrDefault(e.group(1), new String[0]);
          String[] all = Arrays.copyOf(more, more.length + 1);
          all[more.length] = e.group(2);
          allowed.put(e.group(1), all);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    ranks = Map.copyOf(order);
    exceptions = Map.copyOf(allowed);
  }

  /** Returns the names in the table, with their ranks. */
  static Map<String, Integer> ranks() {
    return ranks;
  }

  /** Returns how many waits were checked. */
  public static long checks() {
    return CHECKS.get();
  }

  /** Returns the next inversion; null if there is none. */
  public static @Nullable AssertionError poll() {
    return FOUND.poll();
  }

  /** Clears all inversions, which may then be found again; for the tests of this class. */
  static void forget() {
    TOLD.clear();
    FOUND.clear();
  }

  // ------------------------------------------------------------------------ called by woven code

  /** Called when a lock is stored in a field. */
  public static void name(@Nullable Object lock, String name) {
    if (lock instanceof OrderedLocks.Named n && n.order().name.isEmpty()) {
      n.order().name = name; // of the first: others may share it
    }
  }

  /** Called before the thread waits for something other than a lock. */
  public static void waits(String name) {
    check(name, name, true);
  }

  /** Called when the thread acquires something other than a lock. */
  public static void holds(Object what, String name) {
    Integer rank = ranks.get(name);
    if (rank != null && !(what instanceof LogSession s && !s.isLogging())) {
      Held mine = HELD.get();
      OWNERS.put(what, mine);
      mine.add(what, name, rank);
    }
  }

  /** Called when it is released. */
  public static void ends(Object what) {
    Held of = OWNERS.remove(what);
    if (of != null) {
      of.remove(what);
    }
  }

  /** Called when a database is closed or abandoned: its transactions hold nothing any more. */
  public static void endsAll(Object engine) {
    for (Object what : OWNERS.keySet()) {
      if (what instanceof Tx tx && tx.engine() == engine) {
        ends(tx);
      }
    }
  }

  /** Called when a monitor was entered. */
  public static void entered(Object monitor, String name) {
    check(monitor, name, false);
    took(monitor, name);
  }

  /** Called when a monitor is exited. */
  public static void left(Object monitor) {
    HELD.get().remove(monitor);
  }

  // ---------------------------------------------------------------------------------- locks

  static void took(Object lock, String name) {
    Integer rank = ranks.get(name);
    if (rank != null) {
      HELD.get().add(lock, name, rank);
    }
  }

  /** Checks the order before a thread waits for a lock. */
  static void check(Object lock, String name, boolean mayBeSame) {
    Integer rank = ranks.get(name);
    if (rank == null) {
      return;
    }
    CHECKS.lazySet(CHECKS.get() + 1);
    String held = HELD.get().behind(lock, rank, mayBeSame);
    if (held != null && !isAllowed(name)) {
      if (TOLD.putIfAbsent(held + " > " + name, true) == null) {
        FOUND.add(
            new AssertionError(
                "Out of order: "
                    + name
                    + " (rank "
                    + rank
                    + ") is requested while "
                    + held
                    + " (rank "
                    + ranks.get(held)
                    + ") is held on thread "
                    + Thread.currentThread().getName()
                    + ". docs/internals/concurrency.md has the order."));
      }
    }
  }

  private static boolean isAllowed(String name) {
    String[] within = exceptions.get(name);
    return within != null
        && StackWalker.getInstance()
            .walk(
                frames ->
                    frames.anyMatch(
                        f -> {
                          String type = f.getClassName();
                          String method =
                              type.substring(type.lastIndexOf('.') + 1) + "." + f.getMethodName();
                          return Arrays.asList(within).contains(method);
                        }));
  }
}
