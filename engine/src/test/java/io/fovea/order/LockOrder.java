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
 * The order of locks and waits, as the table of docs/internals/concurrency.md has it, and what each
 * thread holds. {@link LockOrderAgent} weaves calls of this class into the engine.
 *
 * <p>A thread that waits for something must hold only what is above it in the table: an inversion
 * is found by one thread, without the deadlock that it makes possible. A lock that is only tried is
 * not checked, for it ends no wait; it counts as held.
 *
 * <p>Each kind of inversion is noted once, and fails the test that runs ({@link #poll}).
 */
public final class LockOrder {
  private static final Pattern ROW = Pattern.compile("\\| *(\\d+) *\\|([^|]*)\\|([^|]*)\\|.*");
  private static final Pattern NAME = Pattern.compile("`([A-Za-z.]+)`");
  private static final Pattern EXCEPTION =
      Pattern.compile("- `([A-Za-z.]+)` within `([A-Za-z.]+)`.*");

  private static volatile Map<String, Integer> ranks = Map.of();

  /** By the name of what is waited for: methods within which it may be out of order. */
  private static volatile Map<String, String[]> exceptions = Map.of();

  private static final Map<String, Boolean> TOLD = new ConcurrentHashMap<>();
  private static final Queue<AssertionError> FOUND = new ConcurrentLinkedQueue<>();
  private static final AtomicLong CHECKS = new AtomicLong();
  private static final ThreadLocal<Held> HELD = ThreadLocal.withInitial(Held::new);

  /** What is held until another thread may end it: contexts and sessions of the log. */
  private static final Map<Object, Held> OWNERS = new ConcurrentHashMap<>();

  private LockOrder() {}

  /** What a thread holds. Guarded by itself: another thread may end its transaction. */
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

    /** What is held and comes behind a rank, or is at it; null for nothing. */
    synchronized @Nullable String behind(Object one, int rank, boolean mayBeSame) {
      String first = null;
      for (int i = 0; i < size; i++) {
        if (what[i] == one) {
          return null; // it has it
        }
        if (ranks[i] > rank || ranks[i] == rank && !mayBeSame) {
          first = names[i];
        }
      }
      return first;
    }
  }

  /** Reads the order. */
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

  /** The names in the table. */
  static Map<String, Integer> ranks() {
    return ranks;
  }

  /** How often a wait was checked. */
  public static long checks() {
    return CHECKS.get();
  }

  /** The next inversion that was found; null for none. */
  public static @Nullable AssertionError poll() {
    return FOUND.poll();
  }

  /** For a test of this: what was found is found again, and is nobody's failure. */
  static void forget() {
    TOLD.clear();
    FOUND.clear();
  }

  // ------------------------------------------------------------------------ what is woven in

  /** A lock was put into a field. */
  public static void name(@Nullable Object lock, String name) {
    if (lock instanceof OrderedLocks.Named n && n.order().name.isEmpty()) {
      n.order().name = name; // of the first: others may share it
    }
  }

  /** The thread is about to wait for something that is no lock. */
  public static void waits(String name) {
    check(name, name, true);
  }

  /** The thread holds something from now on. */
  public static void holds(Object what, String name) {
    Integer rank = ranks.get(name);
    if (rank != null && !(what instanceof LogSession s && !s.logging())) {
      Held mine = HELD.get();
      OWNERS.put(what, mine);
      mine.add(what, name, rank);
    }
  }

  /** It is held no more. */
  public static void ends(Object what) {
    Held of = OWNERS.remove(what);
    if (of != null) {
      of.remove(what);
    }
  }

  /** A database is closed or abandoned: nobody waits for its transactions any more. */
  public static void endsAll(Object engine) {
    for (Object what : OWNERS.keySet()) {
      if (what instanceof Tx tx && tx.engine() == engine) {
        ends(tx);
      }
    }
  }

  /** A monitor was entered. */
  public static void entered(Object monitor, String name) {
    check(monitor, name, false);
    took(monitor, name);
  }

  /** A monitor is left. */
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

  /** A thread is about to wait for a lock. */
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
                    + ") is waited for while "
                    + held
                    + " (rank "
                    + ranks.get(held)
                    + ") is held, on thread "
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
