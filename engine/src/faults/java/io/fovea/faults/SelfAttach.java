package io.fovea.faults;

import com.sun.tools.attach.VirtualMachine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;

/** Loads a class of the class path as an agent of this JVM, or of a new one. */
public final class SelfAttach {
  private SelfAttach() {}

  /** Returns whether the JVM allows it: {@code -Djdk.attach.allowAttachSelf=true}. */
  public static boolean isAllowed() {
    return Boolean.getBoolean("jdk.attach.allowAttachSelf");
  }

  /** Loads an agent into this JVM; its {@code agentmain} has returned when this does. */
  public static void load(Class<?> agent, String arguments) {
    try {
      Path jar = Files.createTempFile("agent", ".jar");
      try {
        write(jar, agent);
        VirtualMachine self = VirtualMachine.attach(Long.toString(ProcessHandle.current().pid()));
        try {
          self.loadAgent(jar.toString(), arguments);
        } finally {
          self.detach();
        }
      } finally {
        Files.delete(jar);
      }
    } catch (Exception e) {
      throw new IllegalStateException("The agent " + agent.getName() + " cannot be loaded.", e);
    }
  }

  /** Writes a jar for {@code -javaagent}; the class itself is found on the class path. */
  public static void write(Path jar, Class<?> agent) throws IOException {
    Manifest manifest = new Manifest();
    Attributes main = manifest.getMainAttributes();
    main.put(Attributes.Name.MANIFEST_VERSION, "1.0");
    main.putValue("Agent-Class", agent.getName());
    main.putValue("Premain-Class", agent.getName());
    new JarOutputStream(Files.newOutputStream(jar), manifest).close();
  }
}
