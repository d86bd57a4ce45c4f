/** The mails with one-time links. Plain text; lines are short enough for every reader. */
export const mails = {
  invitation: {
    subject: (place: string) => `You are invited to ${place}`,
    text: (link: string, until: string) => `Hello,

you are invited to the Gatehouse dashboard. Take the invitation up here:

${link}

The link works once, until ${until}. If you did not expect it, you need do nothing.
`,
  },
  reset: {
    subject: 'Choose a new password',
    text: (link: string, until: string) => `Hello,

somebody asked for a new password for your account in the Gatehouse dashboard.
If it was you, choose one here:

${link}

The link works once, until ${until}. If it was not you, you need do nothing: your
password stays as it is.
`,
  },
};
