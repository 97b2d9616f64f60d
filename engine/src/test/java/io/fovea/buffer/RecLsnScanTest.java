package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.config.Translation;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The scan for the redo point misses no page, whatever happens to pages and their LSNs: moves
 * between frames, copies for a write, failed writes.
 */
@Timeout(60)
class RecLsnScanTest {
  private static final int COUNT = 256;
  private static final long REC = 8192;
  private static final long SCANS = 3_000;

  private final TestDevice device = new TestDevice();
  private final Frames frames =
      new Frames(PoolConfig.ofFrames(4096, COUNT, Translation.PREDICTIVE), null);
  private final PagePromoter pagePromoter = new PagePromoter(frames);
  private final DataSync dataSync = new DataSync(device, PoolLog.NONE, 0);
  private final WriteBack writeBack = new WriteBack(frames, device, PoolLog.NONE, null, dataSync);
  private final Flusher flusher = new Flusher(frames, writeBack, pagePromoter, dataSync, 100);
  private final AtomicBoolean stop = new AtomicBoolean();
  private final AtomicReference<Throwable> failure = new AtomicReference<>();

  private Thread start(Runnable body) {
    return Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try {
                while (!stop.get()) {
                  body.run();
                }
              } catch (Throwable e) {
                failure.set(e);
              }
            });
  }

  private static void put(Frames frames, long pid, int frame, long recLsn) {
    PagePromoterTest.put(frames, pid, frame, PageHeader.LEAF);
    assertTrue(Latch.tryExclusive(frames.headers, frame));
    frames.markDirty(frame, recLsn);
    Latch.releaseExclusive(frames.headers, frame);
  }

  /** Moves one old page from one end of the table to the other and back. */
  private void moves(SplittableRandom random, AtomicLong moved) {
    int frame = frames.translator.locate(70);
    int to = frame < COUNT / 2 ? COUNT - 1 - random.nextInt(8) : random.nextInt(8);
    if (frame >= 0 && pagePromoter.promote(70, frame, to) == to) {
      moved.incrementAndGet();
    }
  }

  private void scans() {
    for (int i = 0; i < SCANS; i++) {
      assertEquals(REC, flusher.minRecLsn(), "scan " + i);
    }
  }

  private void end(Thread... threads) throws InterruptedException {
    stop.set(true);
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(null, failure.get());
  }

  /** A page moves from a frame ahead of the scan to one behind it. */
  @Test
  void movesAreNotMissed() throws Exception {
    put(frames, 70, 0, REC);
    put(frames, 71, COUNT - 1, REC + 8);
    put(frames, 72, 3, 2 * REC);
    AtomicLong moved = new AtomicLong();
    SplittableRandom random = new SplittableRandom(1);
    Thread mover = start(() -> moves(random, moved));
    Pools.await("moves", () -> moved.get() > 100);
    scans();
    end(mover);
  }

  /** A recLsn alternates between the two words, while the page also moves. */
  @Test
  void failedWritesAreNotMissed() throws Exception {
    put(frames, 70, 0, REC);
    put(frames, 71, COUNT - 1, REC + 8);
    device.writeFails = offset -> offset == 70 * 4096;
    AtomicLong moved = new AtomicLong();
    AtomicLong failed = new AtomicLong();
    SplittableRandom random = new SplittableRandom(2);
    Thread mover = start(() -> moves(random, moved));
    Thread writer =
        start(
            () -> {
              writeBack.begin();
              writeBack.add(70, frames.translator.locate(70));
              writeBack.write(false);
              if (writeBack.batchFailure() != null) {
                failed.incrementAndGet();
              }
              writeBack.end();
            });
    Thread changer =
        start(
            () -> {
              int frame = frames.translator.locate(70);
              if (Latch.tryExclusive(frames.headers, frame)) {
                if (frames.pid(frame) == 70) {
                  frames.markDirty(frame, 3 * REC);
                }
                Latch.releaseExclusive(frames.headers, frame);
              }
              Thread.onSpinWait();
            });
    Pools.await("failures", () -> failed.get() > 100);
    scans();
    end(mover, writer, changer);
    // Once the page is written, no trace of it remains.
    device.writeFails = offset -> false;
    flusher.flush();
    assertEquals(Long.MAX_VALUE, flusher.minRecLsn());
    for (int frame = 0; frame < COUNT; frame++) {
      assertEquals(0, FrameHeader.writingRecLsn(frames.headers, frame));
    }
  }

  /** Several threads pause moves; the last one to resume ends the pause. */
  @Test
  void pausesNest() {
    put(frames, 70, 0, REC);
    pagePromoter.pause();
    pagePromoter.pause();
    pagePromoter.resume();
    assertEquals(0, pagePromoter.promote(70, 0, 9));
    assertEquals(REC, flusher.minRecLsn());
    assertEquals(0, pagePromoter.promote(70, 0, 9));
    pagePromoter.resume();
    assertEquals(9, pagePromoter.promote(70, 0, 9));
  }
}
