package io.fovea.crash;

import io.fovea.buffer.PageHeader;
import io.fovea.error.CorruptionException;
import io.fovea.error.FoveaException;
import io.fovea.memory.Checksum;
import io.fovea.memory.Mem;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDevice;
import io.fovea.support.SimDisk;
import io.fovea.wal.Forger;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import org.opentest4j.AssertionFailedError;

/**
 * Opens forged files: pages, log records and headers with wrong contents and valid checksums.
 * {@link HostileTest} starts it in a JVM with little memory.
 *
 * <p>Only {@link FoveaException}s are allowed: no other exception, no endless loop, no unbounded
 * memory. Answers are checked by {@link DamagedUse} only.
 *
 * <p>Usage: {@code Hostile KIND SEED FROM TO}: rounds FROM to TO. Kind {@code files} forges all
 * files of a database at random; {@code pages} forges pages of the data file by their layout.
 * Prints the number of each round before it begins, {@code BAD} and a stack trace for a failure,
 * {@code HANG} and all stacks if a round does not end, and finally {@code END}.
 */
final class Hostile {
  private static final int PAGE = 4096;
  private static final int DWB_HEADER = 4096;
  private static final long DWB_AREA = DWB_HEADER + 256L * PAGE;

  private static final MemorySegment MEMORY = Arena.global().allocate(1 << 20, PAGE);

  private final Random r;
  private final StringBuilder what = new StringBuilder();

  private Hostile(long seed) {
    this.r = new Random(seed);
  }

  private record Base(SimDisk disk, State state) {}

  private static Base base(boolean clean, long seed) {
    SimDisk disk = new SimDisk(seed);
    Session s = new Session(disk, Session.small(), false, new State());
    s.open();
    s.first();
    s.steps(new Generator(seed, 64, true, true), 60);
    if (clean) {
      s.close();
    } else {
      s.steps(new Generator(seed + 1, true, false), 10);
      s.abandon();
    }
    return new Base(disk.crash(SimCrash.KEEP_ALL), s.state());
  }

  // ----------------------------------------------------------------------------------------
  // forging

  private long number() {
    return switch (r.nextInt(9)) {
      case 0 -> 0;
      case 1 -> 1;
      case 2 -> -1;
      case 3 -> Long.MAX_VALUE;
      case 4 -> Integer.MAX_VALUE;
      case 5 -> 1L << r.nextInt(63);
      case 6 -> r.nextInt(300);
      case 7 -> 0x7FFF;
      default -> r.nextLong();
    };
  }

  /** Changes some bytes of a range. */
  private void mutate(MemorySegment m, int from, int to) {
    int times = r.nextInt(3) == 0 ? 1 + r.nextInt(8) : 1;
    for (int i = 0; i < times; i++) {
      int size = 1 << r.nextInt(4);
      int at = from + r.nextInt(Math.max(1, to - from - size + 1));
      at = r.nextBoolean() ? Math.max(from, at & -size) : at;
      if (at + size > m.byteSize()) {
        continue;
      }
      long n = number();
      what.append(" @").append(at).append(':').append(size).append('=').append(n);
      switch (size) {
        case 1 -> m.set(ValueLayout.JAVA_BYTE, at, (byte) n);
        case 2 -> m.set(ValueLayout.JAVA_SHORT_UNALIGNED, at, (short) n);
        case 4 -> m.set(ValueLayout.JAVA_INT_UNALIGNED, at, (int) n);
        default -> m.set(ValueLayout.JAVA_LONG_UNALIGNED, at, n);
      }
    }
  }

  private static MemorySegment memory(byte[] bytes) {
    MemorySegment m = MEMORY.asSlice(0, bytes.length);
    MemorySegment.copy(bytes, 0, m, ValueLayout.JAVA_BYTE, 0, bytes.length);
    return m;
  }

  private static byte[] bytes(MemorySegment m) {
    return m.toArray(ValueLayout.JAVA_BYTE);
  }

  private void page(SimDisk disk) {
    long pages = disk.device("db").size() / PAGE;
    long pid = r.nextInt(8) == 0 ? r.nextInt(2) : r.nextLong(pages);
    for (int i = 0; i < 200; i++) {
      // a page in use, each type equally often
      int type = disk.peek("db", pid * PAGE + PageHeader.TYPE, 1)[0];
      if (type != 0 && (type != PageHeader.OVERFLOW || r.nextInt(8) == 0) || pid < 2) {
        break;
      }
      pid = r.nextLong(pages);
    }
    byte[] old = disk.peek("db", pid * PAGE, PAGE);
    MemorySegment m = memory(old);
    what.append(" page ").append(pid).append(" type ").append(old[PageHeader.TYPE]);
    switch (r.nextInt(10)) {
      case 0 -> mutate(m, 4, 32);
      case 1, 2, 3 -> mutate(m, 32, 160);
      case 4 -> mutate(m, 4, PAGE);
      case 5 -> {
        long other = r.nextLong(pages);
        what.append(" like page ").append(other);
        m = memory(disk.peek("db", other * PAGE, PAGE));
        m.set(ValueLayout.JAVA_LONG_UNALIGNED, PageHeader.PID, pid);
      }
      case 6 -> {
        what.append(" zero");
        m.asSlice(32).fill((byte) 0);
      }
      case 7 -> {
        what.append(" noise");
        byte[] noise = new byte[PAGE - 32];
        r.nextBytes(noise);
        MemorySegment.copy(noise, 0, m, ValueLayout.JAVA_BYTE, 32, noise.length);
      }
      default -> reference(m, pages);
    }
    PageHeader.seal(m, 0, PAGE);
    disk.poke("db", pid * PAGE, bytes(m));
  }

  /** Replaces a value that may be a page id. */
  private void reference(MemorySegment m, long pages) {
    List<Integer> places = new ArrayList<>();
    for (int at = 32; at <= PAGE - 8; at++) {
      long n = m.get(ValueLayout.JAVA_LONG_UNALIGNED, at);
      if (n > 1 && n < pages) {
        places.add(at);
      }
    }
    if (places.isEmpty()) {
      mutate(m, 32, PAGE);
      return;
    }
    int at = places.get(r.nextInt(places.size()));
    long to = r.nextInt(4) == 0 ? number() : r.nextLong(pages);
    what.append(" reference @").append(at).append('=').append(to);
    m.set(ValueLayout.JAVA_LONG_UNALIGNED, at, to);
  }

  private static UUID uuid(SimDisk disk) {
    // From the first superblock that has one; see docs/reference/file-format.md.
    for (int pid = 0; pid < 2; pid++) {
      ByteBuffer b = ByteBuffer.wrap(disk.peek("db", (long) pid * PAGE + 48, 16));
      b.order(ByteOrder.BIG_ENDIAN);
      UUID id = new UUID(b.getLong(), b.getLong());
      if (id.getMostSignificantBits() != 0) {
        return id;
      }
    }
    throw new IllegalStateException();
  }

  private void log(SimDisk disk) {
    SimDevice device = disk.device("db.log");
    List<Forger.Part> parts;
    try {
      parts = Forger.parts(device, uuid(disk));
    } catch (CorruptionException e) {
      return; // an earlier forgery made it unreadable
    }
    if (parts.isEmpty()) {
      return;
    }
    Forger.Part part = parts.get(r.nextInt(parts.size()));
    what.append(" log ").append(part);
    MemorySegment m = memory(disk.peek("db.log", part.offset(), part.length()));
    int to = r.nextInt(3) == 0 ? part.length() : Math.min(part.length(), 64);
    mutate(m, Math.min(8, part.length() - 1), to);
    part.seal(m);
    disk.poke("db.log", part.offset(), bytes(m));
  }

  private void doubleWrite(SimDisk disk) {
    long at = r.nextInt(2) * DWB_AREA;
    what.append(" dwb ").append(at);
    MemorySegment m = memory(disk.peek("db.dwb", at, DWB_HEADER));
    mutate(m, 12, r.nextBoolean() ? 64 : DWB_HEADER);
    Mem.putInt(m, 8, Checksum.crc32c(m, 12, DWB_HEADER - 12));
    disk.poke("db.dwb", at, bytes(m));
    if (r.nextBoolean()) {
      // damage for the double-write area to restore
      disk.flip("db", (2 + r.nextInt(100)) * (long) PAGE + 100, 1);
    }
  }

  private void lengths(SimDisk disk) {
    String file = List.of("db", "db.log", "db.dwb").get(r.nextInt(3));
    long size = disk.device(file).size();
    long to = r.nextBoolean() ? r.nextLong(size + 1) & -PAGE : size + r.nextLong(1 << 22) & -PAGE;
    what.append(" length of ").append(file).append(' ').append(to);
    SimDevice device = disk.device(file);
    device.resize(to);
    device.sync();
  }

  private void forge(SimDisk disk) {
    int times = 1 + r.nextInt(2);
    for (int i = 0; i < times; i++) {
      switch (r.nextInt(12)) {
        case 0 -> lengths(disk);
        case 1 -> doubleWrite(disk);
        case 2, 3, 4, 5 -> log(disk);
        default -> page(disk);
      }
    }
  }

  // ----------------------------------------------------------------------------------------
  // opening

  private static void use(SimDisk disk, State state, long seed) {
    Session s = new Session(disk, Session.small(Session.mostlyDefault(seed)), false, state);
    try {
      s.open();
      Generator g = new Generator(seed, true, true);
      attempt(() -> s.db().verify());
      attempt(() -> State.read(s.db(), state, state.trees()));
      attempt(() -> State.read(s.db(), state, s.db().verify().trees()));
      for (int i = 0; i < 12 && s.db != null; i++) {
        attempt(() -> s.step(g.next(s.state())));
      }
      if (s.db != null) {
        s.close();
      }
    } finally {
      s.abandon();
    }
  }

  /** Counts outcomes. */
  static final class Outcomes {
    private final Map<String, Integer> counts = new TreeMap<>();

    void add(String outcome) {
      counts.merge(outcome, 1, Integer::sum);
    }

    @Override
    public String toString() {
      return counts.toString();
    }
  }

  /** Runs a step; a difference from the model is expected. */
  static void attempt(Runnable step) {
    try {
      step.run();
    } catch (FoveaException | AssertionFailedError e) {
      // as it should
    } catch (AssertionError e) {
      if (!e.getStackTrace()[0].getClassName().startsWith("io.fovea.crash.")) {
        throw e;
      }
    }
  }

  /** When the current round began, and its number. */
  private static volatile long began;

  private static volatile int round;

  /** Ends the process if a round does not end, with tolerance for a busy machine. */
  private static void watch(long seconds) {
    began = System.nanoTime();
    Thread t =
        new Thread(
            () -> {
              while (System.nanoTime() - began < seconds * 1_000_000_000L) {
                LockSupport.parkNanos(1_000_000_000L);
              }
              System.out.println("\nHANG " + round);
              Thread.getAllStackTraces()
                  .forEach(
                      (thread, stack) -> {
                        System.out.println(thread);
                        for (StackTraceElement e : stack) {
                          System.out.println("    " + e);
                        }
                      });
              System.out.flush();
              Runtime.getRuntime().halt(3);
            },
            "watchdog");
    t.setDaemon(true);
    t.start();
  }

  /** Forges pages and checks the answers. */
  private static void pages(
      DeepTreeFixture.Base base, Hostile h, int i, long seed, Outcomes outcomes) {
    SimDisk disk = base.disk().copy();
    PageForger forger = new PageForger(disk, h.what);
    for (int times = 1 + h.r.nextInt(2); times > 0; times--) {
      forger.forge(h.r);
    }
    begin(i, h);
    DamagedUse use = new DamagedUse(disk, base.state(), seed + i, outcomes);
    String wrong = use.run();
    if (wrong != null && !forger.changedContents()) {
      throw new AssertionFailedError(wrong);
    }
  }

  private static void begin(int i, Hostile h) {
    System.out.println(i + ":" + h.what);
    System.out.flush();
    round = i;
    began = System.nanoTime();
  }

  public static void main(String[] args) throws Exception {
    boolean pages = args[0].equals("pages");
    long seed = Long.parseLong(args[1]);
    int from = Integer.parseInt(args[2]);
    int to = Integer.parseInt(args[3]);
    watch(Long.getLong("crash.hang", 120));
    List<Base> bases =
        pages ? List.of() : List.of(base(true, seed), base(false, seed), base(false, seed + 1));
    List<DeepTreeFixture.Base> deep =
        pages
            ? List.of(DeepTreeFixture.make(true, seed), DeepTreeFixture.make(false, seed))
            : List.of();
    Outcomes outcomes = new Outcomes();
    for (int i = from; i < to; i++) {
      Hostile h = new Hostile(seed * 1_000_003 + i);
      String outcome = "used";
      try {
        if (pages) {
          // twice as often the base that needs no recovery, which would repair some damage
          pages(deep.get(Math.max(0, h.r.nextInt(3) - 1)), h, i, seed, outcomes);
        } else {
          Base base = bases.get(h.r.nextInt(bases.size()));
          SimDisk disk = base.disk.copy();
          h.forge(disk);
          begin(i, h);
          use(disk, base.state, seed + i);
        }
      } catch (AssertionFailedError e) {
        outcome = pages ? bad(e) : e.getClass().getSimpleName();
      } catch (FoveaException e) {
        outcome = e.getClass().getSimpleName();
      } catch (IllegalArgumentException e) {
        outcome = bad(e);
      } catch (Throwable e) {
        outcome = bad(e);
      }
      outcomes.add(outcome);
    }
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmHWM")) {
        System.out.println("memory " + line.replaceAll("[^0-9]", ""));
      }
    }
    System.out.println("END " + outcomes);
    System.exit(0);
  }

  private static String bad(Throwable e) {
    System.out.println("BAD");
    e.printStackTrace(System.out);
    return "BAD " + e.getClass().getSimpleName();
  }
}
