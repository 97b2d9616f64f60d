package io.fovea;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.error.InvalidUseException;
import io.fovea.schema.TableSpec;
import io.fovea.store.LogSizes;
import io.fovea.support.SimDisk;
import io.fovea.support.SimStorage;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Log sizes at their minimum, at their maximum or in between, in any combination, are either
 * accepted, or rejected with a message that names acceptable sizes.
 */
class LogSizesTest {
  private static final Pattern FITTING =
      Pattern.compile(
          "\\.bufferBytes\\((\\d+)\\)\\.segmentBytes\\((\\d+)\\)\\.maxBytes\\((\\d+)\\)");
  private static final long[] BUFFERS = {64 << 10, 128 << 10, 1 << 20, 4 << 20, 1 << 30};
  private static final long[] SEGMENTS = {64 << 10, 68 << 10, 1 << 20, 16 << 20, 1 << 30};
  private static final long[] MAXIMA = {256 << 10, 1 << 20, 5 << 20, 512 << 20, 8L << 30};

  private static Options with(Options o, long buffer, long segment, long max) {
    return o.log(log -> log.bufferBytes((int) buffer).segmentBytes(segment).maxBytes(max));
  }

  /** Returns the options that a message suggests: the requested value, then one that fits. */
  private static List<Options> fitting(Options o, String message) {
    List<Options> all = new ArrayList<>();
    Matcher m = FITTING.matcher(message);
    while (m.find()) {
      all.add(
          with(
              o,
              Long.parseLong(m.group(1)),
              Long.parseLong(m.group(2)),
              Long.parseLong(m.group(3))));
    }
    return all;
  }

  @Test
  void allCombinationsAreAcceptedOrCorrected() {
    int refused = 0;
    for (int size = 4096; size <= 65536; size *= 2) {
      int page = size;
      for (long buffer : BUFFERS) {
        for (long segment : SEGMENTS) {
          for (long max : MAXIMA) {
            Options o =
                with(Options.defaults().device(dev -> dev.pageSize(page)), buffer, segment, max);
            try {
              LogSizes.check(o.toStoreConfig().log(), o.device().pageSize());
            } catch (InvalidUseException e) {
              refused++;
              List<Options> told = fitting(o, e.getMessage());
              assertTrue(told.size() > 1, e::getMessage);
              for (Options fits : told.subList(1, told.size())) {
                assertDoesNotThrow(
                    () -> LogSizes.check(fits.toStoreConfig().log(), fits.device().pageSize()),
                    e::getMessage);
              }
              Options larger = told.get(1);
              assertTrue(
                  larger.log().bufferBytes() >= buffer
                      && larger.log().segmentBytes() >= segment
                      && larger.log().maxBytes() >= max,
                  e::getMessage);
            }
          }
        }
      }
    }
    assertTrue(refused > 100);
  }

  @Test
  void exactLimitsOpen() {
    for (int size = 4096; size <= 65536; size *= 4) {
      int page = size;
      LogSizes least = new LogSizes(0, 0, 0).raised(page);
      assertEquals(least, least.raised(page));
      Options o =
          with(
                  Options.defaults()
                      .device(dev -> dev.pageSize(page))
                      .bufferBytes(16 << 20)
                      .memory(mem -> mem.timestampBytes(1 << 20)),
                  least.bufferBytes(),
                  least.segmentBytes(),
                  least.maxBytes())
              .transactions(txs -> txs.maxActive(2));
      SimDisk disk = new SimDisk(page);
      int valueBytes = 3 * page;
      try (Database db = Database.open(new SimStorage(disk), o)) {
        Table<byte[], byte[]> t = db.table(TableSpec.bytes("t", 8)).bytes();
        for (int i = 0; i < 40; i++) {
          byte[] key = {(byte) i};
          db.run(tx -> t.put(tx, key, new byte[valueBytes]));
        }
        assertTrue(db.verify().ok());
      }
    }
  }
}
