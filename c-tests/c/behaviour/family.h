/*
 * Children that do what their parent says, one command at a time, and keep what they observe
 * until it is asked for: so the lines of several processes never mix.
 */
#ifndef FAMILY_H
#define FAMILY_H

#include "observe.h"

#define CHILDREN 8

struct child {
	pid_t pid;
	int commands;
	int answers;
};

static struct child children[CHILDREN];

/* What a child does with a command; set by the program. */
static void obey(const char *command);

static void answer(void)
{
	fflush(stdout);
	if (write(STDERR_FILENO, ".", 1) != 1)
		_exit(3);
}

/* Starts child `index`; what it prints goes to a file of its own. */
UNUSED static void born(int index)
{
	int down[2], up[2];
	char line[128];
	FILE *input;
	size_t i;

	if (pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC))
		exit(2);
	fflush(stdout);
	children[index].pid = fork();
	if (children[index].pid == 0) {
		people->pids[index] = getpid();
		for (i = 0; i < CHILDREN; i++) {
			if (children[i].commands > 0 && (int)i != index) {
				close(children[i].commands);
				close(children[i].answers);
			}
		}
		close(down[1]);
		close(up[0]);
		dup2(up[1], STDERR_FILENO);
		close(up[1]);
		input = fdopen(down[0], "r");
		/* in memory until it is asked for */
		if (dup2(memfd_create("transcript", 0), STDOUT_FILENO) < 0)
			_exit(2);
		setvbuf(stdout, NULL, _IOFBF, 1 << 16);
		answer();
		while (fgets(line, sizeof(line), input)) {
			line[strcspn(line, "\n")] = 0;
			obey(line);
			answer();
		}
		_exit(0);
	}
	close(down[0]);
	close(up[1]);
	children[index].commands = down[1];
	children[index].answers = up[0];
	people->pids[index] = children[index].pid;
	if (read(up[0], line, 1) != 1)
		printf("p%d: DOES NOT START\n", index);
}

/* Gives a command, and waits until it is done or the child has ended. */
UNUSED static void tell(int index, const char *command)
{
	char line[128];
	int len = snprintf(line, sizeof(line), "%s\n", command);

	if (write(children[index].commands, line, (size_t)len) != len || read(children[index].answers, line, 1) != 1)
		printf("p%d: NO ANSWER to %s\n", index, command);
}

/* Prints what a child has kept so far. It stays readable after the child's end. */
UNUSED static void transcript(int index, int stdout_of_child)
{
	char text[4096];
	ssize_t count;

	printf("p%d:\n", index);
	fflush(stdout);
	lseek(stdout_of_child, 0, SEEK_SET);
	while ((count = read(stdout_of_child, text, sizeof(text))) > 0)
		fwrite(text, 1, (size_t)count, stdout);
}

/* The file with a child's lines. To be opened while it lives. */
UNUSED static int lines_of(int index)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/1", children[index].pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Lets a child end by the end of its commands, or kills it; says how it ended. */
UNUSED static void gone(int index, int signal_number)
{
	int status = 0;

	if (signal_number)
		kill(children[index].pid, signal_number);
	close(children[index].commands);
	waitpid(children[index].pid, &status, 0);
	close(children[index].answers);
	children[index].commands = 0;
	if (WIFSIGNALED(status))
		printf("p%d ended by signal %d\n", index, WTERMSIG(status));
	else
		printf("p%d ended with %d\n", index, WEXITSTATUS(status));
}

#endif
