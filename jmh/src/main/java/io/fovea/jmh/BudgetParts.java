package io.fovea.jmh;

import static io.fovea.jmh.BudgetState.OPERATIONS;

import io.fovea.btree.BTree;
import io.fovea.btree.Position;
import io.fovea.buffer.AllocatorState;
import io.fovea.buffer.BufferPool;
import io.fovea.buffer.PoolConfig;
import io.fovea.encoding.Tuple;
import io.fovea.io.MemoryDevice;
import io.fovea.memory.Hash;
import io.fovea.memory.Mem;
import io.fovea.txn.Timestamps;
import io.fovea.txn.Tx;
import io.fovea.txn.TxConfig;
import io.fovea.txn.TxEngine;
import io.fovea.wal.LogSession;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The parts of a point read. Budget: key and hash 12 ns, descent 160, copy 15, item 22, read set 6,
 * validation 12, checks 6.
 *
 * <p>Processors overlap hundreds of instructions, so parts measured separately do not add up.
 * Therefore each method does the work of the previous one plus one part, below the API, on a tree
 * like that of {@link BudgetPoint.Stock}. The cost of a part is the difference.
 *
 * <pre>
 *   a keyAndHash                         key and hash = a
 *   b   + find                           descent      = b - a
 *   c   + copyValue, valid               copy         = c - b
 *   d   + pin, word                      item         = d - c
 *   e transactionGet: Tx.get             read set, and control flow = e - d
 *   f transactionGetAndValidate          validation   = f - e, less a 32nd of a small commit
 *     BudgetPoint.pointRead              checks       = that - e
 * </pre>
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 8, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 3, jvmArgsAppend = "-Xmx1g")
@State(Scope.Thread)
public class BudgetParts {
  private static final int PAGE = 4096;
  private static final int TREE = 7;
  private static final int CONTEXT = 0;
  private static final long SEED = Hash.seed(TREE);

  /** Records of the tree. */
  @Param("1000000")
  public int records;

  /** The distribution of keys: {@code uniform} or {@code zipf}. */
  @Param("uniform")
  public String keys;

  private final Position position = new Position();
  private final MemorySegment key = Arena.global().allocate(8, 8);
  private final MemorySegment value = Arena.global().allocate(BudgetTables.STOCK_BYTES, 8);
  private BufferPool pool;
  private BTree tree;
  private Timestamps timestamps;
  private TxEngine engine;
  private KeyChooser chooser;

  /** Fills the tree. */
  @Setup(Level.Trial)
  public void load() {
    long data = (long) records * BudgetTables.STOCK_BYTES * 3 / 2;
    pool =
        new BufferPool(
            new MemoryDevice(), PoolConfig.of(PAGE, (64L << 20) + data), AllocatorState.EMPTY);
    tree = BTree.create(pool, TREE, LogSession.NONE);
    for (int n = 0; n < records; n++) {
      setKey(n);
      tree.upsertInline(key, 0, 8, value, 0, BudgetTables.STOCK_BYTES, position, LogSession.NONE);
    }
    TxConfig config = TxConfig.DEFAULT;
    timestamps = new Timestamps(config.contexts(), config.timestamps(), null);
    engine = new TxEngine(config, PAGE);
    chooser = new KeyChooser(records, keys, 1);
  }

  /** Closes the tree. */
  @TearDown(Level.Trial)
  public void close() {
    pool.close();
    timestamps.close();
    engine.close();
  }

  private void setKey(int n) {
    int end = Tuple.putInt32(key, 0, n / BudgetTables.ITEMS + 1);
    Tuple.putInt32(key, end, n % BudgetTables.ITEMS + 1);
  }

  private long hash() {
    setKey(chooser.next());
    return Hash.hash(SEED, key, 0, 8);
  }

  private int copy() {
    int length = tree.copyValue(position, value, 0, BudgetTables.STOCK_BYTES);
    if (!tree.valid(position) || length != BudgetTables.STOCK_BYTES) {
      throw new IllegalStateException("An unchanged record has changed.");
    }
    return length;
  }

  /** A key of two numbers, and its item. */
  @Benchmark
  @OperationsPerInvocation(OPERATIONS)
  public long keyAndHash() {
    long sum = 0;
    for (int i = 0; i < OPERATIONS; i++) {
      sum += hash();
    }
    return sum;
  }

  /** Adds the descent. */
  @Benchmark
  @OperationsPerInvocation(OPERATIONS)
  public long find() {
    long sum = 0;
    for (int i = 0; i < OPERATIONS; i++) {
      sum += hash();
      tree.find(key, 0, 8, position);
      sum += position.slot;
    }
    return sum;
  }

  /** Adds the copy of the record, and the validation of the leaf's version. */
  @Benchmark
  @OperationsPerInvocation(OPERATIONS)
  public long findAndCopy() {
    long sum = 0;
    for (int i = 0; i < OPERATIONS; i++) {
      sum += hash();
      tree.find(key, 0, 8, position);
      sum += copy();
    }
    return sum + Mem.getInt(value, 0);
  }

  /** Adds the item's timestamps. */
  @Benchmark
  @OperationsPerInvocation(OPERATIONS)
  public long findCopyAndPin() {
    long sum = 0;
    timestamps.enter(CONTEXT);
    for (int i = 0; i < OPERATIONS; i++) {
      long item = hash();
      tree.find(key, 0, 8, position);
      sum += copy();
      sum += timestamps.word(timestamps.pin(CONTEXT, item));
    }
    timestamps.exit(CONTEXT);
    return sum + Mem.getInt(value, 0);
  }

  private long reads(Tx tx) {
    long sum = 0;
    for (int i = 0; i < OPERATIONS; i++) {
      setKey(chooser.next());
      sum += tx.get(tree, key, 0, 8, value, 0, BudgetTables.STOCK_BYTES);
    }
    return sum + Mem.getInt(value, 0);
  }

  /** Adds the read set: the same in a transaction that does not validate. */
  @Benchmark
  @OperationsPerInvocation(OPERATIONS)
  public long transactionGet() {
    Tx tx = engine.begin(true, 0, false);
    long sum = reads(tx);
    tx.rollback(tx.epoch());
    return sum;
  }

  /**
   * The same, with a commit that validates. It updates one fixed record, so that the commit
   * timestamp is above those of the reads and every read must be extended.
   */
  @Benchmark
  @OperationsPerInvocation(OPERATIONS)
  public long transactionGetAndValidate() {
    Tx tx = engine.begin(false, 0, false);
    long sum = reads(tx);
    setKey(0);
    tx.put(tree, key, 0, 8, value, 0, BudgetTables.STOCK_BYTES);
    tx.commit(tx.epoch());
    return sum;
  }
}
