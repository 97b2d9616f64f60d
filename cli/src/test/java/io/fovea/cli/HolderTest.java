package io.fovea.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fovea.Database;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The process that has a database open. */
class HolderTest {
  @TempDir Path dir;

  @Test
  void holderWhileItIsOpen() throws IOException {
    Path file = dir.resolve("db");
    long own = ProcessHandle.current().pid();
    assertEquals(-1, Holder.of(file));
    try (Database db = Database.open(file, Fixture.SMALL)) {
      assertTrue(db.isOpen());
      assertEquals(own, Holder.of(file));
      Path link = Files.createSymbolicLink(dir.resolve("link"), file);
      assertEquals(own, Holder.of(link));
    }
    assertEquals(-1, Holder.of(file));
  }

  /** A process that opens the file meanwhile must not be refused. */
  @Test
  void doesNotOpenTheFile() throws IOException {
    Path file = dir.resolve("db");
    Path note = dir.resolve("db.lock");
    String own;
    try (Database db = Database.open(file, Fixture.SMALL)) {
      assertTrue(db.isOpen());
      own = Files.readString(note);
    }
    Files.delete(file);
    Files.writeString(note, own);
    assertEquals(ProcessHandle.current().pid(), Holder.of(file));
  }

  @Test
  void notesOfOtherProcesses() throws IOException {
    Path file = dir.resolve("db");
    Path note = dir.resolve("db.lock");
    String own;
    try (Database db = Database.open(file, Fixture.SMALL)) {
      assertTrue(db.isOpen());
      own = Files.readString(note).strip();
    }
    long pid = ProcessHandle.current().pid();
    String[] parts = own.split(" ");
    if (parts.length == 3) {
      for (String killed :
          new String[] {
            pid + " " + parts[1] + " 1", // a later process has the id
            pid + " 00000000-0000-0000-0000-000000000000 " + parts[2], // before a restart
            Integer.MAX_VALUE + " " + parts[1] + " " + parts[2]
          }) {
        Files.writeString(note, killed + "\n");
        assertEquals(-1, Holder.of(file), killed);
      }
    }
    Files.writeString(note, pid + "\n");
    assertEquals(pid, Holder.of(file));
    Files.writeString(note, "");
    assertEquals(-1, Holder.of(file));
  }
}
