package io.fovea.cli;

import io.fovea.Database;
import java.nio.file.Path;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Parameters;

/** A command on a file. */
abstract class FileCommand extends JsonCommand {
  @Parameters(index = "0", paramLabel = "FILE", description = "The file of the database.")
  @Nullable Path file;

  final Path file() {
    Path f = Objects.requireNonNull(file);
    if (f.getFileName() == null) {
      throw mistake(f + " is a folder; FILE must be the file of a database");
    }
    return f;
  }

  /** Opens the database for reading. */
  final Opened toRead(CopyOption how) {
    Session session = session();
    if (session != null) {
      return session.opened();
    }
    if (!how.copy) {
      return Opened.of(TableFile.open(file()), () -> {});
    }
    Copy copy = Copy.of(file());
    boolean done = false;
    try {
      Opened opened = Opened.of(TableFile.open(copy.file()), copy::close);
      done = true;
      return opened;
    } finally {
      if (!done) {
        copy.close();
      }
    }
  }

  /** Works on the file, or on a copy of it. */
  final <T> T looking(CopyOption how, Function<Path, T> work) {
    if (!how.copy) {
      return work.apply(file());
    }
    try (Copy copy = Copy.of(file())) {
      return work.apply(copy.file());
    }
  }

  /** Opens the database to change records; commits are durable. */
  final Opened toChange() {
    Session session = session();
    return session == null
        ? Opened.of(Database.open(file(), Opening.toChange(file())), () -> {})
        : session.opened();
  }

  /** Creates a database. */
  final Opened toCreate() {
    return Opened.of(Database.open(file(), Opening.toCreate()), () -> {});
  }

  /** In a shell: tables are created outside of transactions. */
  final void requireNoTransaction() {
    Session session = session();
    if (session != null && session.inTransaction()) {
      throw mistake("a transaction is open: commit or roll back first");
    }
  }

  /** In a shell: fails unless it was opened with --write. */
  final void requireWritingShell() {
    Session session = session();
    if (session != null && !session.writes()) {
      throw mistake(
          "the shell has opened " + file() + " for reading only: use fovea --write to change it");
    }
  }

  /**
   * Requires --write, so that no existing file is changed by mistake. All commands that change
   * records, tables or the size of a file call this.
   */
  final void requireWrite(boolean write) {
    requireWritingShell();
    if (!write && session() == null) {
      throw mistake("this changes " + file() + ": give --write");
    }
  }

  /** Called at each record: ends the command if the user stopped it. */
  final void goOn() {
    Session session = session();
    if (session != null) {
      session.goOn();
    }
  }
}
