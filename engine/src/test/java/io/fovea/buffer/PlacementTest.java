package io.fovea.buffer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.fovea.config.Translation;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

class PlacementTest {
  private static final int FRAMES = 64;

  @ParameterizedTest
  @EnumSource(value = Translation.class, names = "PREDICTIVE.*", mode = Mode.MATCH_ANY)
  void pagesInTheirPreferredFrameArePredicted(Translation kind) {
    Frames frames = new Frames(PoolConfig.ofFrames(4096, FRAMES, kind), null);
    assertEquals(new Placement(0, 0, 0, 0), Placement.of(frames));
    int preferred = frames.translator.preferred(70);
    int elsewhere = (preferred + 1) % FRAMES;
    PagePromoterTest.put(frames, 70, elsewhere, PageHeader.LEAF);
    assertEquals(new Placement(1, 0, 0, 0), Placement.of(frames));
    assertEquals(preferred, new PagePromoter(frames).promote(70, elsewhere, preferred));
    assertEquals(new Placement(1, 1, 1, 0), Placement.of(frames));
    long rival = 71;
    while (frames.translator.preferred(rival) != preferred) {
      rival++;
    }
    PagePromoterTest.put(frames, rival, elsewhere, PageHeader.LEAF);
    assertEquals(new Placement(2, 1, 1, 0), Placement.of(frames));
    assertEquals(preferred, new PagePromoter(frames).promote(rival, elsewhere, preferred));
    assertEquals(new Placement(2, 1, 2, 1), Placement.of(frames));
  }

  @ParameterizedTest
  @EnumSource(value = Translation.class, names = "PREDICTIVE.*", mode = Mode.MATCH_NONE)
  void otherTranslationsPreferNoFrame(Translation kind) {
    Frames frames = new Frames(PoolConfig.ofFrames(4096, FRAMES, kind), null);
    if (Translator.isOwn(kind)) {
      assertEquals(-1, frames.translator.preferred(70)); // it is in its preferred frame, or in none
      return;
    }
    PagePromoterTest.put(frames, 70, 3, PageHeader.LEAF);
    assertEquals(new Placement(1, 0, 0, 0), Placement.of(frames));
  }
}
