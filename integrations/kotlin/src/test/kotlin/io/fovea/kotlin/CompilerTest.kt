package io.fovea.kotlin

import io.fovea.Database
import java.io.ByteArrayOutputStream
import java.io.PrintStream
import java.nio.file.Path
import kotlin.io.path.writeText
import org.jetbrains.kotlin.cli.common.ExitCode
import org.jetbrains.kotlin.cli.jvm.K2JVMCompiler
import org.jspecify.annotations.NullMarked
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir

/** What the compiler must refuse, in one compilation, because each takes seconds. */
class CompilerTest {
  /** Each line with a comment has that error; the others have none. */
  private val source =
      """
      import io.fovea.*
      import io.fovea.schema.Id

      @JvmRecord data class R(val id: Long, val name: String?)

      fun nullable(t: Table<Long, R>, tx: Transaction) {
        val a: R = t.get(tx, 1) // actual 'R?'
        val b: R? = t.get(tx, 1)
        t.get(tx, 1).name // only safe (?.) or non-null asserted (!!.) calls are allowed
        t.get(tx, 1)?.name
        t.first(tx).key // only safe (?.) or non-null asserted (!!.) calls are allowed
        t.put(tx, 1, null) // none of the following candidates is applicable
        t.put(tx, 1, R(1, null))
      }

      fun results(db: Database, t: Table<Long, R>) {
        val a: R = db.read<R?, RuntimeException> { tx -> t.get(tx, 1) } // actual 'R?'
        val b: R = db.read<R, RuntimeException> { tx -> t.get(tx, 1)!! }
        db.read<R, RuntimeException> { tx -> t.get(tx, 1) } // actual 'R?'
        db.onClose(null) // null cannot be a value of a non-null type
        db.options().bufferShare().toString()
        db.options().bufferShare().bytes() // only safe (?.) or non-null asserted (!!.) calls
      }

      // Kotlin has no checked exceptions to infer the type from. It must not take its own
      // function run instead, which runs the body without a transaction.
      fun exceptions(db: Database) {
        db.run { tx -> println(tx) } // cannot infer type for type parameter 'X'
        db.run { println() } // cannot infer type for type parameter 'X'
        db.run<RuntimeException> { println() }
      }

      @JvmRecord data class WithId(@Id val id: Long)
      class Keyed(@param:Id val id: Long) // not applicable to target 'value parameter'
      """
          .trimIndent()

  @Test
  fun mistakesDontCompile(@TempDir folder: Path) {
    val file = folder.resolve("Mistakes.kt")
    file.writeText(source)
    val out = ByteArrayOutputStream()
    val code =
        K2JVMCompiler()
            .exec(
                PrintStream(out, true, Charsets.UTF_8),
                "-no-stdlib",
                "-no-reflect",
                "-jvm-target",
                "22",
                "-Xjspecify-annotations=strict",
                "-classpath",
                listOf(Database::class, NullMarked::class, Unit::class)
                    .map { Path.of(it.java.protectionDomain.codeSource.location.toURI()) }
                    .joinToString(System.getProperty("path.separator")),
                "-d",
                folder.resolve("out").toString(),
                file.toString(),
            )
    val messages = out.toString(Charsets.UTF_8)
    assertEquals(ExitCode.COMPILATION_ERROR, code, messages)
    val errors =
        Regex("""Mistakes\.kt:(\d+):\d+: error: (.*)""").findAll(messages).associate {
          it.groupValues[1].toInt() to it.groupValues[2]
        }
    // The expected text where the compiler's message contains it, otherwise the message.
    val expected = source.lines().map { it.substringAfter(" // ", "none") }
    val found =
        expected.mapIndexed { i, text ->
          val error = errors[i + 1]
          if (error == null) "none" else if (error.contains(text)) text else error
        }
    assertEquals(numbered(expected), numbered(found))
  }

  private fun numbered(lines: List<String>) =
      lines.mapIndexed { i, line -> "${i + 1}: $line" }.joinToString("\n")
}
