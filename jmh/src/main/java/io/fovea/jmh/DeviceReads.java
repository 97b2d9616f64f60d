package io.fovea.jmh;

import com.sun.management.OperatingSystemMXBean;
import io.fovea.InTurn;
import io.fovea.bindings.NativeException;
import io.fovea.bindings.generated.LibUring;
import io.fovea.config.Io;
import io.fovea.io.BlockDevice;
import io.fovea.io.DeviceConfig;
import io.fovea.io.Devices;
import io.fovea.io.IoBatch;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;

/**
 * The cost of a random read of 4 KiB through each I/O backend: reads per second, processor time per
 * read, and latency.
 *
 * <pre>
 *   java -cp jmh/target/benchmarks.jar io.fovea.jmh.DeviceReads FILE [SECONDS [ROUNDS [MIB]]]
 * </pre>
 *
 * <p>The file must exist and be larger than any cache of the device; it is only read, with
 * O_DIRECT. The backends run in turn, ROUNDS times; medians are printed. Backends:
 *
 * <ul>
 *   <li><i>device, pread</i>: {@link BlockDevice#read} by platform threads: one system call per
 *       read;
 *   <li><i>device, lone by ring</i>: the same through the poller's ring;
 *   <li><i>device, virtual</i>: the same by virtual threads, which park;
 *   <li><i>device, batch</i>: {@link BlockDevice#run} of a batch, by one platform thread;
 *   <li><i>ring</i>: a ring owned by the reading thread, always full, with setup flags, registered
 *       files and registered buffers added one by one;
 *   <li><i>ring, lent</i>: a lent ring, as used by the engine's threads; and again reading into MIB
 *       of memory, if given, as large as a pool.
 * </ul>
 */
public final class DeviceReads {
  private static final int BLOCK = 4096;
  private static final int LATENCIES_MAX = 1 << 20;

  private final Path file;
  private final long blocks;
  private final double seconds;
  private final int mib;
  private final OperatingSystemMXBean system =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private DeviceReads(Path file, double seconds, int mib) throws IOException {
    this.file = file;
    this.mib = mib;
    this.blocks = Files.size(file) / BLOCK;
    this.seconds = seconds;
    if (blocks < 1024) {
      throw new IllegalArgumentException(file + " has fewer than 1024 blocks of 4 KiB.");
    }
  }

  /** A backend, with name and depth. */
  private record Backend(String name, int depth, Door door) {}

  /** Reads until the clock says to stop. */
  @FunctionalInterface
  private interface Door {
    void read(int depth, Clock clock) throws Exception;
  }

  /** When to stop, and the reads so far. */
  private static final class Clock {
    final AtomicBoolean stop = new AtomicBoolean();
    final LongAdder reads = new LongAdder();
    final long[] latencies = new long[LATENCIES_MAX];
    private int size;

    /** Records a latency; keeps the first million. */
    synchronized void latency(long nanos) {
      if (size < latencies.length) {
        latencies[size++] = nanos;
      }
    }

    synchronized double micros(double share) {
      Arrays.sort(latencies, 0, size);
      return size == 0 ? Double.NaN : latencies[(int) ((size - 1) * share)] / 1e3;
    }
  }

  private record Result(double perSecond, double cpuMicros, double p50, double p99) {}

  /** Runs the benchmark. */
  public static void main(String[] args) throws Exception {
    if (args.length < 1) {
      System.err.println("DeviceReads FILE [SECONDS [ROUNDS [MIB]]]");
      System.exit(1);
    }
    double seconds = args.length > 1 ? Double.parseDouble(args[1]) : 3;
    int rounds = args.length > 2 ? Integer.parseInt(args[2]) : 3;
    int mib = args.length > 3 ? Integer.parseInt(args[3]) : 0;
    new DeviceReads(Path.of(args[0]), seconds, mib).run(rounds);
  }

  private void run(int rounds) throws Exception {
    List<Backend> ways = ways();
    List<List<Result>> results = new ArrayList<>();
    ways.forEach(w -> results.add(new ArrayList<>()));
    for (int round = 0; round < rounds; round++) {
      for (int i = 0; i < ways.size(); i++) {
        try {
          results.get(i).add(measure(ways.get(i)));
        } catch (NativeException e) {
          // The kernel, or the limit of locked memory, may not allow it.
          System.err.println(ways.get(i).name + ": " + e.getMessage());
        }
      }
    }
    System.out.println(
        "| way | depth | reads/s (least-most) | CPU, us a read | p50, us | p99, us |");
    System.out.println("|---|---|---|---|---|---|");
    for (int i = 0; i < ways.size(); i++) {
      List<Result> all = results.get(i);
      if (all.isEmpty()) {
        continue;
      }
      double[] rates = all.stream().mapToDouble(Result::perSecond).sorted().toArray();
      System.out.printf(
          Locale.ROOT,
          "| %s | %d | %,.0f (%,.0f-%,.0f) | %.1f | %.0f | %.0f |%n",
          ways.get(i).name,
          ways.get(i).depth,
          InTurn.median(rates),
          rates[0],
          rates[rates.length - 1],
          InTurn.median(all.stream().mapToDouble(Result::cpuMicros).toArray()),
          InTurn.median(all.stream().mapToDouble(Result::p50).toArray()),
          InTurn.median(all.stream().mapToDouble(Result::p99).toArray()));
    }
  }

  private List<Backend> ways() {
    DeviceConfig defaults = DeviceConfig.defaults().create(false);
    DeviceConfig posix = defaults.kind(Io.POSIX);
    DeviceConfig byRing = defaults.kind(Io.URING).lonePread(false);
    int plain = LibUring.IORING_SETUP_COOP_TASKRUN() | LibUring.IORING_SETUP_TASKRUN_FLAG();
    int deferred =
        LibUring.IORING_SETUP_SINGLE_ISSUER()
            | LibUring.IORING_SETUP_DEFER_TASKRUN()
            | LibUring.IORING_SETUP_TASKRUN_FLAG();
    List<Backend> ways = new ArrayList<>();
    for (int depth : new int[] {1, 16, 64}) {
      ways.add(new Backend("device, pread", depth, (d, c) -> byThreads(posix, d, false, c)));
      ways.add(
          new Backend("device, lone by ring", depth, (d, c) -> byThreads(byRing, d, false, c)));
      ways.add(new Backend("device, virtual", depth, (d, c) -> byThreads(byRing, d, true, c)));
      ways.add(new Backend("device, batch", depth, (d, c) -> byBatches(byRing, d, c)));
      ways.add(new Backend("ring", depth, (d, c) -> byRing(0, false, false, d, c)));
      ways.add(
          new Backend("ring, cooperative", depth, (d, c) -> byRing(plain, false, false, d, c)));
      ways.add(new Backend("ring, lent", depth, (d, c) -> byRing(plain, true, false, d, c)));
      if (mib > 0) {
        int turns = Math.max(1, (int) (((long) mib << 20) / BLOCK / depth));
        ways.add(
            new Backend(
                "ring, lent, into " + mib + " MiB",
                depth,
                (d, c) -> byRing(plain, true, false, d, turns, c)));
      }
      ways.add(
          new Backend("ring, deferred", depth, (d, c) -> byRing(deferred, false, false, d, c)));
      ways.add(
          new Backend(
              "ring, deferred, file", depth, (d, c) -> byRing(deferred, true, false, d, c)));
      ways.add(
          new Backend(
              "ring, deferred, file, buffers",
              depth,
              (d, c) -> byRing(deferred, true, true, d, c)));
    }
    return ways;
  }

  private Result measure(Backend way) throws Exception {
    Clock clock = new Clock();
    Thread timer =
        Thread.ofPlatform()
            .daemon()
            .start(
                () -> {
                  try {
                    Thread.sleep((long) (seconds * 1000));
                  } catch (InterruptedException e) {
                    // After a failure, the measurement ends early.
                  }
                  clock.stop.set(true);
                });
    long cpu = system.getProcessCpuTime();
    long begin = System.nanoTime();
    way.door.read(way.depth, clock);
    double took = (System.nanoTime() - begin) / 1e9;
    cpu = system.getProcessCpuTime() - cpu;
    timer.interrupt();
    timer.join();
    double reads = Math.max(1, clock.reads.sum());
    return new Result(reads / took, cpu / 1e3 / reads, clock.micros(0.5), clock.micros(0.99));
  }

  /** Each thread reads one block after another. */
  private void byThreads(DeviceConfig options, int threads, boolean virtual, Clock clock)
      throws InterruptedException {
    try (BlockDevice device = Devices.open(file, options);
        Arena arena = Arena.ofShared()) {
      List<Thread> all = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        MemorySegment memory = arena.allocate(BLOCK, BLOCK);
        SplittableRandom random = new SplittableRandom(i);
        Runnable work =
            () -> {
              while (!clock.stop.get()) {
                long begin = System.nanoTime();
                device.read(random.nextLong(blocks) * BLOCK, memory, 0, BLOCK);
                clock.latency(System.nanoTime() - begin);
                clock.reads.increment();
              }
            };
        all.add(virtual ? Thread.ofVirtual().start(work) : Thread.ofPlatform().start(work));
      }
      for (Thread thread : all) {
        thread.join();
      }
    }
  }

  /** One thread runs one batch after another; latencies are those of batches. */
  private void byBatches(DeviceConfig options, int depth, Clock clock) {
    try (BlockDevice device = Devices.open(file, options);
        Arena arena = Arena.ofShared()) {
      MemorySegment memory = arena.allocate((long) depth * BLOCK, BLOCK);
      SplittableRandom random = new SplittableRandom(depth);
      IoBatch batch = new IoBatch(depth);
      while (!clock.stop.get()) {
        batch.clear();
        for (int i = 0; i < depth; i++) {
          batch.read(random.nextLong(blocks) * BLOCK, memory, (long) i * BLOCK, BLOCK);
        }
        long begin = System.nanoTime();
        device.run(batch);
        clock.latency(System.nanoTime() - begin);
        batch.throwIfFailed();
        clock.reads.add(depth);
      }
    }
  }

  /** One thread keeps its own ring full. */
  private void byRing(
      int flags, boolean registerFile, boolean registerBuffers, int depth, Clock clock)
      throws IOException {
    byRing(flags, registerFile, registerBuffers, depth, 1, clock);
  }

  private void byRing(
      int flags, boolean registerFile, boolean registerBuffers, int depth, int turns, Clock clock)
      throws IOException {
    try (RingReader reader =
        new RingReader(file, flags, registerFile, registerBuffers, depth, turns)) {
      SplittableRandom random = new SplittableRandom(depth);
      long[] begun = new long[depth];
      for (int slot = 0; slot < depth; slot++) {
        begun[slot] = System.nanoTime();
        reader.read(slot, random.nextLong(blocks) * BLOCK);
      }
      int underWay = depth;
      while (underWay > 0) {
        int n = reader.await();
        long now = System.nanoTime();
        for (int i = 0; i < n; i++) {
          int slot = reader.slot(i);
          clock.latency(now - begun[slot]);
          clock.reads.increment();
          if (clock.stop.get()) {
            underWay--;
          } else {
            begun[slot] = now;
            reader.read(slot, random.nextLong(blocks) * BLOCK);
          }
        }
      }
    }
  }
}
