/** The mails with one-time links. Plain text; lines are short enough for every reader. */
export const mails = {
  invitation: {
    subject: (place: string) => `You are invited to ${place}`,
    text: (link: string, until: string) => `Hello,

You are invited to the Gatehouse dashboard. Accept the invitation here:

${link}

The link works once, until ${until}. If you did not expect this mail, ignore it.
`,
  },
  reset: {
    subject: 'Choose a new password',
    text: (link: string, until: string) => `Hello,

Someone requested a new password for your account in the Gatehouse dashboard.
If it was you, choose a new password here:

${link}

The link works once, until ${until}. If it was not you, ignore this mail. Your
password does not change.
`,
  },
};
