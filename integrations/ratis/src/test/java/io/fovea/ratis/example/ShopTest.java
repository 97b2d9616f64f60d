package io.fovea.ratis.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Options;
import io.fovea.ratis.Peer;
import io.fovea.ratis.Ports;
import io.fovea.ratis.ReplicatedDatabase;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example runs. PagesTest compares it with docs/guide/replication.md. */
class ShopTest {
  @TempDir Path directory;

  private static String say(ReplicatedDatabase db, String line) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8)) {
      Shop.answer(db, line, out);
    }
    return bytes.toString(StandardCharsets.UTF_8).trim();
  }

  @Test
  @Tag("slow")
  void survivesOnePeerLeaving() throws Exception {
    List<Peer> peers = new ArrayList<>();
    for (String id : List.of("a", "b", "c")) {
      peers.add(new Peer(id, "127.0.0.1:" + Ports.next()));
    }
    Map<String, ReplicatedDatabase> up = new LinkedHashMap<>();
    try {
      for (Peer p : peers) {
        up.put(
            p.id(),
            ReplicatedDatabase.join(
                Shop.options(p.id(), directory.resolve(p.id()), peers)
                    .database(Options.defaults().bufferBytes(16 << 20))));
      }
      for (ReplicatedDatabase db : up.values()) {
        assertTrue(db.awaitLeader(Duration.ofSeconds(60)));
      }
      assertEquals("10 of apples are left.", say(up.get("a"), "10 apples"));
      assertEquals("7 of apples are left.", say(up.get("b"), "-3 apples"));
      assertEquals("There are 7 of apples.", say(up.get("c"), "-8 apples"));
      up.remove("a").close();
      assertEquals("There are 7 of apples.", say(up.get("b"), "apples"));
      assertEquals("2 of apples are left.", say(up.get("c"), "-5 apples"));
      assertTrue(say(up.get("c"), "?").contains("state=UP"));
    } finally {
      up.values().forEach(ReplicatedDatabase::close);
    }
  }
}
