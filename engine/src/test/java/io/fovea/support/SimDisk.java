package io.fovea.support;

import io.fovea.bindings.Errno;
import io.fovea.io.IoOp;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A disk that loses power, fails, fills up and delays operations, all from one seed.
 *
 * <pre>
 *   device("data") device("log") ...      handles; the engine may close and reopen them
 *        └──────────┬──────┘
 *               SimDisk(seed)             one count of operations, one lock, one random
 *                   │
 *   crash(how) ─────┴──► another SimDisk  the disk after a power failure; this one continues
 * </pre>
 *
 * <ul>
 *   <li>{@link #crash}: a clone in which unsynced writes are lost, torn at 512 bytes, reordered.
 *       {@link #powerOffAt} makes the disk fail from an operation on; {@link #onOperation} lets a
 *       test clone it before each operation.
 *   <li>{@link #fail}: the n-th operation fails, once or permanently, or is lost, misdirected, or
 *       flips a bit ({@link SimFault}). A failed write may have changed any of its sectors. After a
 *       failed sync the writes before it stay in doubt even if later syncs succeed, as on Linux.
 *   <li>{@link #ignoreSyncs}: syncs of a file that do nothing.
 *   <li>{@link #capacity}: a full disk, or a quota of one file, which may be raised later. Holes
 *       take no space; a write into a hole that gets no space is a short write.
 *   <li>{@link #asynchronous}: another thread executes batches in random order, interleaved. {@link
 *       #hold}: operations of a kind wait until they are released.
 *   <li>{@link #poke}, {@link #flip}: damage.
 * </ul>
 *
 * <p>Without {@code asynchronous}, and used by one thread, runs with the same seed are identical.
 * {@link #toString} has the seed and the count of operations. Transfers are never short above the
 * device; the tests of {@code io.fovea.io} simulate short transfers and EINTR below it.
 */
public final class SimDisk {
  /** The transfer unit of the devices. */
  public static final int BLOCK = 4096;

  /** The size of a header for {@link SimFault.Effect#FLIP_HEAD}, in bytes. */
  static final int HEAD = 64;

  private static final long IDLE_SECONDS = 1;

  private final long seed;
  private final Random random;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // Guarded by the lock.
  private final TreeMap<String, SimFile> files = new TreeMap<>();
  private final List<Armed> faults = new ArrayList<>();
  private final List<Runnable> tasks = new ArrayList<>();
  private final Set<IoOp> held = EnumSet.noneOf(IoOp.class);

  /** Only the next operation of this kind is held. */
  private @Nullable IoOp heldNext;

  private boolean oneHeld;
  private int waiting;
  private boolean asynchronous;
  private boolean workerRuns;
  private long operations;
  private long faultsHit;
  private long refusals;
  private long capacity = Long.MAX_VALUE;
  private final Map<String, Long> sizesMax = new HashMap<>();
  private long powerOffAt = Long.MAX_VALUE;
  private final Set<String> liars = new HashSet<>();

  private volatile boolean apart = true;

  private volatile LongConsumer hook = n -> {};

  /** A fault, and the number of operations it has counted. */
  private static final class Armed {
    final SimFault fault;
    long count;

    Armed(SimFault fault) {
      this.fault = fault;
    }
  }

  /** Creates an empty disk; the seed determines everything random. */
  public SimDisk(long seed) {
    this.seed = seed;
    this.random = new Random(seed);
  }

  // ------------------------------------------------------------------------------------- files

  /** Opens a file; creates it if it does not exist. */
  public SimDevice device(String name) {
    return device(name, BLOCK);
  }

  /** Opens a file with another transfer unit. */
  public SimDevice device(String name, int blockSize) {
    return new SimDevice(this, file(name), blockSize);
  }

  /** Returns the names of all files, sorted. */
  public List<String> names() {
    lock.lock();
    try {
      return List.copyOf(files.keySet());
    } finally {
      lock.unlock();
    }
  }

  public boolean exists(String name) {
    return names().contains(name);
  }

  /** Deletes a file, immediately durable. Open devices keep it. */
  public void delete(String name) {
    lock.lock();
    try {
      files.remove(name);
    } finally {
      lock.unlock();
    }
  }

  SimFile file(String name) {
    lock.lock();
    try {
      return files.computeIfAbsent(name, SimFile::new);
    } finally {
      lock.unlock();
    }
  }

  // ------------------------------------------------------------------------------------- faults

  /** Returns the disk after a power failure. This disk continues unchanged. */
  public SimDisk crash(SimCrash how) {
    return crashEach(name -> how);
  }

  /** Crashes, keeping everything of one file and only the synced changes of the others. */
  public SimDisk crashBut(String kept) {
    return crashEach(name -> name.equals(kept) ? SimCrash.KEEP_ALL : SimCrash.LOSE_ALL);
  }

  private SimDisk crashEach(Function<String, SimCrash> how) {
    lock.lock();
    try {
      SimDisk after = new SimDisk(random.nextLong());
      files.forEach((name, file) -> after.files.put(name, file.crash(how.apply(name), random)));
      return after;
    } finally {
      lock.unlock();
    }
  }

  /** Crashes with chosen survivors, one choice for each present change. */
  public SimDisk crash(SimChoice how) {
    lock.lock();
    try {
      SimDisk after = new SimDisk(random.nextLong());
      int first = 0;
      for (Map.Entry<String, SimFile> e : files.entrySet()) {
        after.files.put(e.getKey(), e.getValue().crash(how, first));
        first += e.getValue().unsyncedChanges();
      }
      return after;
    } finally {
      lock.unlock();
    }
  }

  /** Returns a copy of the disk, unsynced writes included. */
  public SimDisk copy() {
    lock.lock();
    try {
      SimDisk copy = new SimDisk(random.nextLong());
      files.forEach((name, file) -> copy.files.put(name, file.copy()));
      return copy;
    } finally {
      lock.unlock();
    }
  }

  /** Fails every operation from this one on (numbered as by {@link #operations}, from 1). */
  public void powerOffAt(long operation) {
    lock.lock();
    try {
      powerOffAt = operation;
    } finally {
      lock.unlock();
    }
  }

  public void fail(SimFault fault) {
    lock.lock();
    try {
      faults.add(new Armed(fault));
    } finally {
      lock.unlock();
    }
  }

  /** Removes all faults, and restores power. */
  public void heal() {
    lock.lock();
    try {
      faults.clear();
      powerOffAt = Long.MAX_VALUE;
    } finally {
      lock.unlock();
    }
  }

  /** Returns how often a fault was hit. A loop over the n-th operation ends when none was. */
  public long faultsHit() {
    return locked(() -> faultsHit);
  }

  /**
   * Makes syncs of a file succeed without an effect, to simulate an engine that forgot them.
   * Crashed disks and copies sync again.
   */
  public void ignoreSyncs(String name) {
    lock.lock();
    try {
      liars.add(name);
    } finally {
      lock.unlock();
    }
  }

  /** Limits the bytes of all files together. */
  public void capacity(long bytes) {
    lock.lock();
    try {
      capacity = bytes;
    } finally {
      lock.unlock();
    }
  }

  /** Limits the bytes of one file; {@link Long#MAX_VALUE}: no separate limit. */
  public void capacity(String name, long bytes) {
    lock.lock();
    try {
      sizesMax.put(name, bytes);
    } finally {
      lock.unlock();
    }
  }

  /** Returns the length of all files together. */
  public long bytes() {
    return locked(() -> files.values().stream().mapToLong(SimFile::size).sum());
  }

  /** Returns the space taken by all files, without their holes. */
  public long allocated() {
    return locked(() -> files.values().stream().mapToLong(SimFile::allocated).sum());
  }

  /** Returns the space taken by a file. */
  public long allocated(String name) {
    return locked(file(name)::allocated);
  }

  /** Returns how often an operation was refused because the disk was full. */
  public long refusals() {
    return locked(() -> refusals);
  }

  /** Returns how many operations were started, including failed ones. */
  public long operations() {
    return locked(() -> operations);
  }

  /** Returns how many changes would be at risk if the power failed now. */
  public int unsyncedChanges() {
    return (int) locked(() -> files.values().stream().mapToInt(SimFile::unsyncedChanges).sum());
  }

  /** Calls a hook before each operation with its number, on its thread and outside the lock. */
  public void onOperation(LongConsumer hook) {
    this.hook = hook;
  }

  /** Sets whether another thread executes batches, in random order. */
  public void asynchronous(boolean on) {
    lock.lock();
    try {
      asynchronous = on;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Sets whether durable writes are independent of each other, as direct I/O on Linux; the default.
   */
  public void writesApart(boolean on) {
    apart = on;
  }

  boolean writesApart() {
    return apart;
  }

  /** Holds operations of a kind from now on, until {@link #letGo}. */
  public void hold(IoOp op) {
    lock.lock();
    try {
      held.add(op);
    } finally {
      lock.unlock();
    }
  }

  /** Releases held operations, and stops holding them. */
  public void letGo() {
    lock.lock();
    try {
      held.clear();
      heldNext = null;
      oneHeld = false;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Holds only the next operation of a kind, until {@link #letGo}. */
  public void holdNext(IoOp op) {
    lock.lock();
    try {
      heldNext = op;
      oneHeld = true;
    } finally {
      lock.unlock();
    }
  }

  /** Waits until this many operations are held. */
  public void awaitHeld(int count) {
    lock.lock();
    try {
      while (waiting < count) {
        changed.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Returns the bytes of a file as programs see them. */
  public byte[] peek(String name, long offset, int len) {
    SimFile file = file(name);
    lock.lock();
    try {
      return file.read(offset, len);
    } finally {
      lock.unlock();
    }
  }

  /** Changes bytes of a file durably, without an operation. */
  public void poke(String name, long offset, byte[] bytes) {
    SimFile file = file(name);
    lock.lock();
    try {
      file.poke(offset, bytes);
    } finally {
      lock.unlock();
    }
  }

  /** Flips one bit of a file durably, without an operation. */
  public void flip(String name, long offset, int bit) {
    byte[] one = peek(name, offset, 1);
    one[0] ^= (byte) (1 << bit);
    poke(name, offset, one);
  }

  /** Returns a hash of the contents of all files. */
  public long fingerprint() {
    lock.lock();
    try {
      long sum = 0;
      for (SimFile file : files.values()) {
        sum = sum * 0x9E3779B97F4A7C15L + file.fingerprint();
      }
      return sum;
    } finally {
      lock.unlock();
    }
  }

  /** Writes all files, as programs see them, to a folder, for diagnosis. */
  public void save(Path folder) throws IOException {
    Files.createDirectories(folder);
    for (String name : names()) {
      long size = locked(file(name)::size);
      try (OutputStream out = Files.newOutputStream(folder.resolve(name))) {
        for (long at = 0; at < size; at += 1 << 20) {
          out.write(peek(name, at, (int) Math.min(1 << 20, size - at)));
        }
      }
    }
  }

  /** Returns a disk with the files of a folder. */
  public static SimDisk load(Path folder, long seed) throws IOException {
    SimDisk disk = new SimDisk(seed);
    try (Stream<Path> paths = Files.list(folder)) {
      for (Path path : paths.sorted().toList()) {
        disk.poke(path.getFileName().toString(), 0, Files.readAllBytes(path));
      }
    }
    return disk;
  }

  @Override
  public String toString() {
    lock.lock();
    try {
      return "SimDisk(seed "
          + seed
          + "L, "
          + operations
          + " operations, faults hit "
          + faultsHit
          + ")";
    } finally {
      lock.unlock();
    }
  }

  // -------------------------------------------------------------------------------- for devices

  long locked(LongSupplier what) {
    lock.lock();
    try {
      return what.getAsLong();
    } finally {
      lock.unlock();
    }
  }

  /** Executes an operation under the lock, after calling the hook. */
  int perform(IoOp op, IntSupplier what) {
    hook.accept(locked(() -> ++operations));
    lock.lock();
    try {
      boolean next = op == heldNext;
      if (next) {
        heldNext = null;
      }
      if (next || held.contains(op)) {
        waiting++;
        changed.signalAll();
        while (next && oneHeld || held.contains(op)) {
          changed.awaitUninterruptibly();
        }
        waiting--;
      }
      return what.getAsInt();
    } finally {
      lock.unlock();
    }
  }

  /** Returns the fault that hits an operation, or null. A disk without power fails everything. */
  private @Nullable SimFault fault(IoOp op) {
    SimFault hit = null;
    for (Armed armed : faults) {
      if (armed.fault.op() == null || armed.fault.op() == op) {
        armed.count++;
        if (hit == null && armed.fault.hits(op, armed.count)) {
          hit = armed.fault;
        }
      }
    }
    if (operations >= powerOffAt) {
      hit = SimFault.from(1);
    }
    if (hit != null) {
      faultsHit++;
    }
    return hit;
  }

  int read(SimFile file, long offset, MemorySegment seg, long segOff, int len) {
    SimFault fault = fault(IoOp.READ);
    byte[] bytes = file.read(offset, len);
    if (fault != null) {
      switch (fault.effect()) {
        case ERROR -> {
          random.nextBytes(bytes);
          put(bytes, seg, segOff);
          return fault.errno();
        }
        case FLIP -> flipOne(bytes, bytes.length);
        case FLIP_HEAD -> flipOne(bytes, HEAD);
        case LOSE, MISDIRECT, REFUSE_CUT -> faultsHit--;
      }
    }
    put(bytes, seg, segOff);
    return 0;
  }

  private static void put(byte[] bytes, MemorySegment seg, long segOff) {
    MemorySegment.copy(bytes, 0, seg, ValueLayout.JAVA_BYTE, segOff, bytes.length);
  }

  private void flipOne(byte[] bytes, int most) {
    int bit = random.nextInt(Math.min(bytes.length, most) * 8);
    bytes[bit / 8] ^= (byte) (1 << bit % 8);
  }

  int write(SimFile file, long offset, byte[] bytes) {
    return write(file, offset, bytes, null);
  }

  int write(SimFile file, long offset, byte[] bytes, @Nullable Object owner) {
    SimFault fault = fault(IoOp.WRITE);
    if (grows(file, offset, bytes.length)) {
      int before = bytes.length;
      while (before > 0 && !fits(file, offset, before)) {
        before -= BLOCK;
      }
      if (before > 0 && fault == null) {
        file.write(offset, Arrays.copyOf(bytes, before)); // a short write, then an error
      }
      return Errno.ENOSPC;
    }
    if (fault == null) {
      file.write(offset, bytes, owner);
      return 0;
    }
    switch (fault.effect()) {
      case ERROR -> {
        // Without power the disk takes no writes, but the last one may have been in progress.
        if (operations <= powerOffAt) {
          file.writeSome(offset, bytes, random);
        }
        return fault.errno();
      }
      case LOSE -> {}
      case MISDIRECT ->
          file.write(
              offset < BLOCK || random.nextBoolean() ? offset + BLOCK : offset - BLOCK, bytes);
      case FLIP, FLIP_HEAD -> {
        flipOne(bytes, fault.effect() == SimFault.Effect.FLIP ? bytes.length : HEAD);
        file.write(offset, bytes);
      }
      case REFUSE_CUT -> {
        faultsHit--;
        file.write(offset, bytes, owner);
      }
    }
    return 0;
  }

  int sync(SimFile file) {
    return sync(file, null);
  }

  int sync(SimFile file, @Nullable Object owner) {
    SimFault fault = fault(IoOp.SYNC);
    if (fault != null && fault.effect() == SimFault.Effect.ERROR) {
      file.failSync(owner);
      return fault.errno();
    }
    if (!liars.contains(file.name)) {
      file.sync(owner);
    }
    return 0;
  }

  int resize(SimFile file, long bytes) {
    SimFault fault = fault(IoOp.RESIZE);
    if (fault != null && fault.effect() == SimFault.Effect.REFUSE_CUT && bytes >= file.size()) {
      faultsHit--;
    } else if (fault != null && fault.effect().failsResize()) {
      return fault.errno();
    }
    if (bytes > file.size() && grows(file, bytes - 1, 1)) {
      return Errno.ENOSPC;
    }
    file.resize(bytes);
    return 0;
  }

  /** Reserves space; contents stay unchanged. */
  int reserve(SimFile file, long offset, int len) {
    SimFault fault = fault(IoOp.RESERVE);
    if (fault != null && fault.effect() == SimFault.Effect.ERROR) {
      return fault.errno();
    }
    int inside = (int) Math.min(len, Math.max(0, file.size() - offset));
    if (grows(file, offset, inside)) {
      return Errno.ENOSPC;
    }
    file.fill(offset, inside);
    return 0;
  }

  /** Punches a hole; for a crash it counts as a write of zeros. */
  int punch(SimFile file, long offset, int len) {
    SimFault fault = fault(IoOp.PUNCH);
    if (fault != null && fault.effect() == SimFault.Effect.ERROR) {
      return fault.errno();
    }
    file.punch(offset, (int) Math.min(len, Math.max(0, file.size() - offset)));
    return 0;
  }

  /** Returns whether a range exceeds the space of the disk; then counts a refusal. */
  private boolean grows(SimFile file, long offset, int len) {
    boolean fits = fits(file, offset, len);
    if (!fits) {
      refusals++;
    }
    return !fits;
  }

  /** Returns whether there is space for the extension of a file and for its holes in a range. */
  private boolean fits(SimFile file, long offset, int len) {
    long more = Math.max(0, offset + len - file.size()) + file.holesIn(offset, len);
    if (len == 0 || more <= 0) {
      return true;
    }
    long used = files.values().stream().mapToLong(SimFile::allocated).sum();
    return used + more <= capacity
        && file.allocated() + more <= sizesMax.getOrDefault(file.name, Long.MAX_VALUE);
  }

  /** Returns the order in which the entries of a batch are started. */
  Integer[] order(int entries) {
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < entries; i++) {
      order.add(i);
    }
    lock.lock();
    try {
      Collections.shuffle(order, random);
    } finally {
      lock.unlock();
    }
    return order.toArray(Integer[]::new);
  }

  /** Executes an entry of a batch, now or later. */
  void start(Runnable task) {
    lock.lock();
    try {
      if (asynchronous) {
        tasks.add(task);
        changed.signalAll();
        if (!workerRuns) {
          workerRuns = true;
          Thread.ofPlatform().daemon().name("sim-disk").start(this::work);
        }
        return;
      }
    } finally {
      lock.unlock();
    }
    task.run();
  }

  /** Executes tasks in random order until there has been none for a while. */
  private void work() {
    while (true) {
      Runnable task;
      lock.lock();
      try {
        while (tasks.isEmpty()) {
          boolean more = changed.await(IDLE_SECONDS, TimeUnit.SECONDS);
          if (!more && tasks.isEmpty()) {
            workerRuns = false;
            return;
          }
        }
        task = tasks.remove(random.nextInt(tasks.size()));
      } catch (InterruptedException e) {
        continue;
      } finally {
        lock.unlock();
      }
      // Lets others submit more, so that there are batches to interleave.
      Thread.yield();
      task.run();
    }
  }
}
