package io.fovea;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.LeakDetection;
import io.fovea.io.BlockDevice;
import io.fovea.io.IoBatch;
import io.fovea.io.Storage;
import io.fovea.schema.TableSpec;
import io.fovea.support.SimCrash;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The first pass of recovery reads the pages of images in batches. */
class ImageAheadTest {
  private static final Options OPTIONS =
      Options.defaults()
          .bufferBytes(32 << 20)
          .memory(mem -> mem.timestampBytes(1 << 20))
          .transactions(txs -> txs.maxActive(2))
          .log(log -> log.maxBytes(256 << 20).checkpointInterval(Duration.ZERO))
          .transactions(txs -> txs.leakDetection(LeakDetection.OFF));
  private static final int RECORDS = 6000;

  private final AtomicLong inBatches = new AtomicLong();
  private final AtomicLong alone = new AtomicLong();

  private final class Counting implements Storage {
    private final SimStorage to;

    Counting(SimDisk disk) {
      this.to = new SimStorage(disk);
    }

    @Override
    public BlockDevice open(String suffix) {
      BlockDevice device = to.open(suffix);
      return suffix.equals(Storage.DATA) ? counted(device) : device;
    }

    @Override
    public boolean exists(String suffix) {
      return to.exists(suffix);
    }

    @Override
    public void delete(String suffix) {
      to.delete(suffix);
    }

    @Override
    public String name() {
      return to.name();
    }
  }

  private BlockDevice counted(BlockDevice device) {
    return (BlockDevice)
        Proxy.newProxyInstance(
            BlockDevice.class.getClassLoader(),
            new Class<?>[] {BlockDevice.class},
            (proxy, method, args) -> {
              if (method.getName().equals("read")) {
                alone.incrementAndGet();
              } else if (method.getName().equals("submit")
                  && args[0] instanceof IoBatch batch
                  && batch.op(0) == io.fovea.io.IoOp.READ) {
                inBatches.addAndGet(batch.size());
              }
              try {
                return method.invoke(device, args);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private static void insert(Database db, int from, int to) {
    Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 16)).bytes();
    Random random = new Random(from);
    for (int i = from; i < to; i += 20) {
      db.run(
          tx -> {
            for (int k = 0; k < 20; k++) {
              t.put(tx, ByteBuffer.allocate(8).putLong(random.nextLong()).array(), new byte[500]);
            }
          });
    }
  }

  @Test
  void pagesOfImagesAreReadInBatches() {
    SimDisk disk = new SimDisk(1);
    Database db = Database.open(new SimStorage(disk), OPTIONS);
    insert(db, 0, RECORDS);
    db.checkpoint();
    insert(db, RECORDS, 2 * RECORDS);
    db.abandon();
    SimDisk crashed = disk.crash(SimCrash.LOSE_ALL);
    try (Database again = Database.open(new Counting(crashed), OPTIONS)) {
      assertTrue(again.stats().recovery().images() > 500, "there are images to read");
      assertTrue(
          inBatches.get() > 300 && inBatches.get() > alone.get(),
          () -> inBatches + " in batches, " + alone + " alone");
      VerifyReport report = again.verify();
      assertTrue(report.ok(), report::toString);
      assertEquals(2 * RECORDS, report.records());
    }
  }
}
