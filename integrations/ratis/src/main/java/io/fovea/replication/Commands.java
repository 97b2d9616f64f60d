package io.fovea.replication;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The known commands: their names in the log and their encoding.
 *
 * <p>Immutable: {@link #with} returns a new instance. Thread-safe.
 *
 * @since 0.1.0
 */
public final class Commands {
  /** No commands. */
  public static final Commands NONE = new Commands(Map.of(), Map.of());

  private record Type(
      String name, Function<Object, byte[]> encode, Function<byte[], ? extends Command> decode) {}

  private final Map<Class<?>, Type> byClass;
  private final Map<String, Type> byName;

  private Commands(Map<Class<?>, Type> byClass, Map<String, Type> byName) {
    this.byClass = byClass;
    this.byName = byName;
  }

  /**
   * Registers a class of commands.
   *
   * @param <C> the class
   * @param name its name in the log, 1 to 255 bytes; it must not change when the class is renamed
   * @param type the class
   * @param encode converts a command to bytes
   * @param decode converts bytes that any version of {@code encode} has written to a command
   * @return a new instance
   * @throws IllegalArgumentException if the name or class is registered already, or the name is
   *     empty or too long
   */
  public <C extends Command> Commands with(
      String name, Class<C> type, Function<C, byte[]> encode, Function<byte[], C> decode) {
    int bytes = name.getBytes(StandardCharsets.UTF_8).length;
    if (bytes == 0 || bytes > Entry.NAME_BYTES_MAX) {
      throw new IllegalArgumentException(
          "The name of a command must have 1 to 255 bytes, not " + bytes + ": \"" + name + "\".");
    }
    if (byName.containsKey(name) || byClass.containsKey(type)) {
      throw new IllegalArgumentException(
          "A command named \"" + name + "\" or of " + type + " is already registered.");
    }
    Type added = new Type(name, c -> encode.apply(type.cast(c)), decode);
    Map<Class<?>, Type> classes = new HashMap<>(byClass);
    classes.put(type, added);
    Map<String, Type> names = new HashMap<>(byName);
    names.put(name, added);
    return new Commands(classes, names);
  }

  /**
   * Encodes a log entry with a command.
   *
   * @param id the request
   * @param command the command
   * @return the entry, without the leader's stamp
   * @throws IllegalArgumentException if the command's class is not registered, or its decoder
   *     rejects the encoded command
   */
  public byte[] entry(RequestId id, Command command) {
    Type type = byClass.get(command.getClass());
    if (type == null) {
      throw new IllegalArgumentException(
          "The command "
              + command.getClass()
              + " is not registered: register it with ReplicationOptions.command, on every peer.");
    }
    byte[] entry = Entry.encode(id, type.name, type.encode.apply(command));
    try {
      decode(Entry.decode(entry)); // as each replica will: a failure there stops them all
    } catch (RuntimeException e) {
      throw new IllegalArgumentException(
          "The command "
              + type.name
              + " is not submitted: its decoder rejects what its encoder wrote ("
              + e
              + ").",
          e);
    }
    return entry;
  }

  Command decode(Entry entry) {
    @Nullable Type type = byName.get(entry.name());
    if (type == null) {
      throw new IllegalStateException(
          "The log has a command \""
              + entry.name()
              + "\" that this replica does not know. Was it submitted by a newer program? Submit a"
              + " new kind of command only after all peers know it.");
    }
    return type.decode.apply(entry.command());
  }
}
